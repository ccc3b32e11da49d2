#!/usr/bin/env python3
"""Builds the package: the PEP 517 backend that pip calls, and `make wheel`.

usage: backend.py --bundle BUILD --out FOLDER      a wheel that carries BUILD/smoljail and BUILD/rootfs

Its own, since a wheel that carries a root needs hands of its own: a wheel's files lose their links, modes and empty
folders, so the root travels as an archive, which the client unpacks once (smoljail/_locate.py). Nothing is written
beside the sources. The same input makes the same bytes.
"""
import argparse
import base64
import gzip
import hashlib
import io
import os
import pathlib
import platform
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1672531200"))    # 2023-01-01, as the root's files have it
ZIP_DATE = (2023, 1, 1, 0, 0, 0)
# The program is static and the root has its own libc, so the host's libc does not matter.
PLATFORMS = ("manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}")


def project():
    try:
        import tomllib
    except ImportError:
        import tomli as tomllib
    with open(HERE / "pyproject.toml", "rb") as f:
        return tomllib.load(f)["project"]


def metadata(p):
    lines = ["Metadata-Version: 2.1", "Name: " + p["name"], "Version: " + p["version"], "Summary: " + p["description"],
             "License: " + p["license"], "Requires-Python: " + p["requires-python"], "Keywords: " + ",".join(p["keywords"])]
    lines += ["Classifier: " + c for c in p["classifiers"]]
    for extra, needs in p["optional-dependencies"].items():
        lines.append("Provides-Extra: " + extra)
        lines += ["Requires-Dist: %s; extra == '%s'" % (need, extra) for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / p["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def entry_points(p):
    return "".join("[%s]\n%s\n" % (group, "".join("%s = %s\n" % pair for pair in names.items()))
                   for group, names in p["entry-points"].items())


def sources():
    for path in sorted((HERE / "smoljail").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".typed"):
            yield path.relative_to(HERE).as_posix(), path.read_bytes()


# ---- wheels -----------------------------------------------------------------------------


def write_wheel(folder, files, tag):
    """The wheel's file name."""
    p = project()
    info = "%s-%s.dist-info/" % (p["name"], p["version"])
    pure = "true" if tag == "py3-none-any" else "false"
    tags = ["%s-%s-%s" % (*tag.split("-")[:2], one) for one in tag.split("-")[2].split(".")]
    files = [*files, (info + "METADATA", metadata(p).encode()), (info + "entry_points.txt", entry_points(p).encode()),
             (info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: smoljail\nRoot-Is-Purelib: %s\n%s" % (
                 pure, "".join("Tag: %s\n" % t for t in tags))).encode())]
    record = ["%s,sha256=%s,%d" % (name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
              for name, data in files]
    files.append((info + "RECORD", ("\n".join([*record, info + "RECORD,,"]) + "\n").encode()))
    name = "%s-%s-%s.whl" % (p["name"], p["version"], tag)
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in files:
            entry = zipfile.ZipInfo(path, ZIP_DATE)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_STORED if path.endswith(".gz") else zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, list(sources()), "py3-none-any")


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, [("smoljail.pth", (str(HERE) + "\n").encode())], "py3-none-any")


def build_sdist(sdist_directory, config_settings=None):
    p = project()
    base = "%s-%s" % (p["name"], p["version"])
    files = [(n, (HERE / n).read_bytes()) for n in ("pyproject.toml", "README.md", "backend.py")] + list(sources())
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name, data in [*files, ("PKG-INFO", metadata(p).encode())]:
            member = tarfile.TarInfo("%s/%s" % (base, name))
            member.size, member.mtime, member.mode = len(data), EPOCH, 0o644
            tar.addfile(member, io.BytesIO(data))
    return base + ".tar.gz"


# ---- with the program -----------------------------------------------------------------------


def _owned_by_nobody(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def archive(build):
    """smoljail and its roots as a gzipped tar, and a digest of it."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(build / "smoljail", "smoljail", filter=lambda m: _program(_owned_by_nobody(m)))
        tar.add(build / "rootfs", "rootfs", filter=lambda m: _top(_owned_by_nobody(m)))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as f:
        f.write(raw.getvalue())
    return packed.getvalue(), hashlib.sha256(raw.getvalue()).hexdigest()[:16]


def _program(member):
    member.mode, member.mtime = 0o755, EPOCH
    return member


def _top(member):
    if member.name in ("rootfs",) or member.name.endswith(".manifest"):
        member.mtime = EPOCH
    return member


def bundle(build, out):
    """The path of a wheel that carries what was built."""
    data, digest = archive(build)
    name = "smoljail/_bin/smoljail-%s-%s.tar.gz" % (project()["version"], digest)
    out.mkdir(parents=True, exist_ok=True)
    tag = "py3-none-" + PLATFORMS.format(platform.machine())
    return out / write_wheel(out, [*sources(), (name, data)], tag)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bundle", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    print(bundle(options.bundle, options.out))
