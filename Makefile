# smoljail - build, test, install. `make help` lists the targets.
#
# Nothing here runs a program while make reads the file, so that `make deps`
# works on a machine that has nothing but make.

VERSION = 0.1.0
SOVERSION = 0

BUILD ?= build
PREFIX ?= /usr/local
CC = gcc
# The interpreter that jails run. The system's, not the first one in PATH: its
# development files must be there, and it must outlive a user's pyenv.
PYTHON ?= /usr/bin/python3
FUZZ_TIME ?= 30
FUZZ_JAIL_TIME ?= 600
SOAK_TIME ?= 3600

# What building and testing need, by Debian's names. PYTHON stands for the
# version behind python3, such as python3.11 (tools/install-packages).
DEPS = build-essential pkg-config python3 python3-dev python3-pip \
	libseccomp-dev libnl-3-dev libnl-route-3-dev libjansson-dev libmd-dev \
	patchelf busybox-static tzdata \
	bats jq util-linux cppcheck shellcheck mandoc libPYTHON-testsuite
BENCH_DEPS = hyperfine bubblewrap firejail
FUZZ_DEPS = clang libclang-rt-dev
VM_DEPS = qemu-system-x86 cpio mmdebstrap e2fsprogs xz-utils

# ---- flags ---------------------------------------------------------------

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla -Wswitch-enum
WERROR = $(if $(filter true,$(CI)),-Werror)

# After the OpenSSF compiler options hardening guide
# (best.openssf.org/Compiler-Hardening-Guides). In order: bounds-checked libc
# calls; stack canaries; no jumping over the guard page; no stale stack contents
# in variables; no leftover pointers in registers for a code-reuse chain.
HARDEN = -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
	-ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr
# Read-only relocations, all bound at start; no executable stack.
HARDEN_LD = -Wl,-z,relro,-z,now,-z,noexecstack
# Sanitizer and coverage flags of the check-asan and fuzz builds.
SAN =
# TEETH=1: for tests alone, a build that can be run without one defence at a time (src/base/teeth.c).
TEETH =

CFLAGS ?= -O2 -g
# PIC throughout: the same objects go into the shared library and into
# position-independent programs. Sections: the guest drops what it does not use.
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE= -Isrc -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections \
	-ffile-prefix-map=$(CURDIR)=. $(WARN) $(WERROR) $(HARDEN) $(SAN) \
	$(if $(TEETH),-DSMOLJAIL_TEETH) -DSMOLJAIL_VERSION='"$(VERSION)"' -DSMOLJAIL_LIBDIR='"$(PREFIX)/lib/smoljail"' \
	-DSMOLJAIL_SHAREDIR='"$(PREFIX)/share/smoljail"' $(CFLAGS)
ALL_LDFLAGS = $(HARDEN_LD) -Wl,--gc-sections -Wl,--build-id $(SAN) $(LDFLAGS)
LIBS = -lseccomp -lnl-route-3 -lnl-3 -ljansson -lmd

# ---- objects -------------------------------------------------------------

# `make V=1` shows whole commands.
Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

objects = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard $(1)))
LIB_OBJ = $(call objects,$(foreach d,base policy filter wire root jail session workbench selftest,src/$(d)/*.c) src/*.c)
CLI_OBJ = $(call objects,src/cli/*.c)
# The guest is on the hostile side: linked with these objects and no others.
GUEST_OBJ = $(call objects,src/guest/*.c src/wire/*.c) \
	$(filter-out %/json.o,$(call objects,src/base/*.c))
UNIT = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
# probe performs one named act inside a jail; a loader makes a hostile surrounding for it.
PROBES = $(BUILD)/tests/probe $(patsubst tests/loaders/%.c,$(BUILD)/tests/%,$(wildcard tests/loaders/*.c))
FUZZERS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*.c))
ROOT_STAMP = $(BUILD)/.rootfs-stamp

.PHONY: all tests teeth deps bench-deps fuzz-deps vm-deps quickstart check check-vm lint objects check-asan asan-tests cover \
	fuzz fuzz-build fuzz-bins fuzz-jail soak \
	bench install sbom wheel clean help
.DELETE_ON_ERROR:

all: $(BUILD)/smoljail $(BUILD)/libsmoljail.so $(ROOT_STAMP) ## build everything into build/ (default)

$(BUILD)/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/jail/%.o: EXTRA_CFLAGS = $(shell pkg-config --cflags libnl-route-3.0)
$(BUILD)/obj/guest/%.o: EXTRA_CFLAGS = $(shell $(PYTHON) tools/python-flags cflags) -I$(BUILD)/gen -ffile-prefix-map=$(BUILD)/gen=gen
# It lives under a filter that the sanitizers' runtime does not keep to.
$(BUILD)/obj/jail/init.o: override SAN =
# A program counts its lines for the last time before an exec, which here is one inside the jail: it would write there.
$(BUILD)/obj/jail/child.o: override SAN += -fno-builtin-execve
$(BUILD)/obj/guest/prepare.o: $(BUILD)/gen/guest/frozen_modules.h

# It carries these files inside itself (.incbin), which -MMD does not see.
$(BUILD)/obj/policy/embed.o: $(wildcard policies/*.json)
$(BUILD)/obj/selftest/attacks.o: src/selftest/attacks.py

$(BUILD)/gen/guest/frozen_modules.h: tools/freeze-modules
	@mkdir -p $(@D)
	$(Q)$(PYTHON) $< >$@

# ---- programs and libraries ----------------------------------------------

# Packed relocations save a static program a tenth of a millisecond; start-up code before glibc 2.36 cannot read them.
RELR = $(shell printf '2.36\n%s\n' "$$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)" | sort -CV && echo -Wl,-z,pack-relative-relocs)
# Static, for a start without a dynamic loader; the sanitizers want one.
$(BUILD)/smoljail: $(CLI_OBJ) $(BUILD)/libsmoljail.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(SAN),-pie,$(RELR) -static-pie) -o $@ $^ $(LIBS)

$(BUILD)/libsmoljail.a: $(LIB_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libsmoljail.so: $(LIB_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,libsmoljail.so.$(SOVERSION) -Wl,-z,defs -o $@ $^ $(LIBS)

# Its references to the C API are the interpreter's to satisfy: see src/guest/start.c.
$(BUILD)/libsmoljail-guest.so: $(GUEST_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^

# The system's interpreter, with our library added to what it needs.
$(BUILD)/smoljail-guest: $(BUILD)/libsmoljail-guest.so tools/python-flags
	$(call say,GUEST,$@)
	$(Q)patchelf --add-needed $(<F) --output $@ $(shell $(PYTHON) tools/python-flags program)

$(ROOT_STAMP): $(BUILD)/smoljail-guest $(shell find rootfs src/guest/py -type f 2>/dev/null) \
		src/python/smoljail/_values.py
	$(call say,ROOT,$(BUILD)/rootfs)
	$(Q)rootfs/build --python $(PYTHON) --guest $(BUILD)/smoljail-guest --out $(BUILD)/rootfs
	@touch $@

# ---- getting started -----------------------------------------------------

deps: ## install the Debian packages that building and testing need
	@tools/install-packages $(DEPS)
bench-deps: ## install what `make bench` compares with
	@tools/install-packages $(BENCH_DEPS)
fuzz-deps: ## install what `make fuzz` needs
	@tools/install-packages $(FUZZ_DEPS)
vm-deps: ## install what the tests in a virtual machine need
	@tools/install-packages $(VM_DEPS)

quickstart: ## deps, build, and a first jailed run with its report
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory all
	@echo "\$$ $(BUILD)/smoljail run --report - -c 'print(6*7)'"
	@$(BUILD)/smoljail run --report - -c 'print(6*7)'

# ---- tests ---------------------------------------------------------------

$(BUILD)/tests/test_%: tests/unit/test_%.c tests/unit/tap.h $(BUILD)/libsmoljail.a Makefile
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests/unit -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libsmoljail.a $(LIBS)

# They run in jails, or make a world for one: nothing of the sanitizers.
$(PROBES): override SAN =
# Static: it runs inside the small root, which has few libraries.
$(BUILD)/tests/probe: $(wildcard tests/probe/*.[ch]) Makefile
	@mkdir -p $(@D)
	$(call say,PROBE,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -pthread -static-pie -o $@ $(filter %.c,$^)
$(BUILD)/tests/%: tests/loaders/%.c Makefile
	@mkdir -p $(@D)
	$(call say,LOADER,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -static-pie -o $@ $<

tests: $(UNIT) $(PROBES)
# Roots are looked for beside the program, so the program of this test lies where the root is.
$(BUILD)/tests/test_library: $(BUILD)/library-test
	@printf '#!/bin/sh\nexec "$$(dirname "$$0")/../library-test"\n' >$@ && chmod 755 $@
$(BUILD)/library-test: tests/unit/test_library.c tests/unit/tap.h $(BUILD)/libsmoljail.a Makefile
	@mkdir -p $(BUILD)/tests
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests/unit -MMD -MP -MF $(BUILD)/tests/library-test.d $(ALL_LDFLAGS) -o $@ $< \
		$(BUILD)/libsmoljail.a $(LIBS)

# Real wheels for the tests of --packages; without a package index these tests are skipped.
PIP = $(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --only-binary=:all:
$(BUILD)/.packages-stamp:
	$(call say,PIP,$(BUILD)/test-packages)
	@mkdir -p $(@D)
	$(Q)rm -rf $(BUILD)/test-packages
	$(Q)$(PIP) --target $(BUILD)/test-packages numpy pandas && touch $@ || \
		echo "no numpy and pandas: tests that need them will be skipped"

teeth: ## a build that can do without one defence at a time, for the suite selftest-teeth
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-teeth TEETH=1 all

check: all tests teeth $(BUILD)/.packages-stamp ## run every test; closes with "N passed, N failed, N skipped"
	@BUILD=$(BUILD) PYTHON=$(PYTHON) tools/run-tests

check-vm: all tests ## only the tests in emulated machines (needs make vm-deps)
	@BUILD=$(BUILD) tools/run-tests --only suites/vm

lint: all ## static checks of sources and binaries, and a build in which a warning is an error
	@tools/lint
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-lint WERROR=-Werror objects
	@BUILD=$(BUILD) tools/check-symbols
	@BUILD=$(BUILD) tools/check-hardening
objects: $(LIB_OBJ) $(CLI_OBJ) $(GUEST_OBJ) tests

# Commands whose work is mostly done outside the jail: streams, reports, refusals, policies. All of them: ASAN_ONLY=bats/
ASAN_ONLY = $(addprefix bats/,run streams explain trace policy seccomp files)
# FORTIFY hides the very overflows that the sanitizer should see, so HARDEN is empty here.
check-asan: all ## unit tests, the server's and some of the commands' with the address and undefined-behaviour sanitizers; closes with the lines they covered
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-asan HARDEN= CFLAGS="-O1 -g -fno-omit-frame-pointer" \
		SAN="-fsanitize=address,undefined -fno-sanitize-recover=all --coverage" asan-tests
	@tools/cover $(BUILD)-asan | tail -1
# The host's side is instrumented, the root is the usual one. The ordinary user's runs add to the counts of root's.
# A supervisor with a filter of its own cannot be searched for leaks; unit tests are.
asan-tests: $(UNIT) $(PROBES) $(BUILD)/smoljail
	@rm -rf $(BUILD)/rootfs && cp -a $(BUILD:-asan=)/rootfs $(BUILD)/
	@find $(BUILD)/obj -name '*.gcda' -delete
	@chmod -R a+rwX $(BUILD)/obj
	@BUILD=$(BUILD) tools/run-tests --only unit
	@export BUILD=$(BUILD) ASAN_OPTIONS=detect_leaks=0; tools/run-tests --as root --only suites/protocol & \
	r=0; tools/run-tests --as root $(addprefix --only ,$(ASAN_ONLY)) || r=1; wait $$! || r=1; exit $$r

cover: check-asan ## the lines that unit tests cover, file by file
	@tools/cover $(BUILD)-asan

fuzz: fuzz-build ## run every fuzz target for FUZZ_TIME seconds (needs make fuzz-deps)
	@tools/fuzz $(BUILD)-fuzz/fuzz $(FUZZ_TIME)
fuzz-build:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-fuzz CC=clang HARDEN= CFLAGS="-O1 -g" \
		SAN="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all" fuzz-bins
fuzz-bins: $(FUZZERS)
$(BUILD)/fuzz/%: tests/fuzz/%.c $(BUILD)/libsmoljail.a
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $< $(BUILD)/libsmoljail.a $(LIBS)

fuzz-jail: all tests ## random system calls and frames in live jails, FUZZ_JAIL_TIME seconds each (600)
	@FUZZ_JAIL_TIME=$(FUZZ_JAIL_TIME) BUILD=$(BUILD) PYTHON=$(PYTHON) tools/run-tests --only suites/fuzz-jail
soak: all tests ## 32 jails at once for SOAK_TIME seconds (3600), each end checked
	@SOAK_TIME=$(SOAK_TIME) BUILD=$(BUILD) PYTHON=$(PYTHON) tools/run-tests --only suites/soak
bench: all tests ## start, memory and call cost beside other launchers (needs make bench-deps)
	@tools/bench --build $(BUILD) --python $(PYTHON)

# ---- install -------------------------------------------------------------

D = $(DESTDIR)$(PREFIX)
install: all ## install under PREFIX (/usr/local), into DESTDIR when given
	install -d $(D)/bin $(D)/lib/smoljail $(D)/include $(D)/share/smoljail/policies $(D)/share/man/man1 $(D)/share/man/man5
	install -m 755 $(BUILD)/smoljail $(D)/bin/
	install -m 755 $(BUILD)/smoljail-guest $(BUILD)/libsmoljail-guest.so $(D)/lib/smoljail/
	rm -rf $(D)/lib/smoljail/rootfs
	cp -R --preserve=mode,timestamps,links $(BUILD)/rootfs $(D)/lib/smoljail/
	install -m 644 $(BUILD)/libsmoljail.a $(D)/lib/
	install -m 755 $(BUILD)/libsmoljail.so $(D)/lib/libsmoljail.so.$(VERSION)
	ln -sf libsmoljail.so.$(VERSION) $(D)/lib/libsmoljail.so.$(SOVERSION)
	ln -sf libsmoljail.so.$(SOVERSION) $(D)/lib/libsmoljail.so
	install -m 644 src/smoljail.h $(D)/include/
	install -m 644 policies/*.json $(D)/share/smoljail/policies/
	install -d $(D)/share/smoljail/apparmor $(D)/share/smoljail/seccomp
	install -m 644 policies/host/smoljail-outer.json $(D)/share/smoljail/seccomp/
	sed 's|@PREFIX@|$(PREFIX)|g' policies/host/smoljail.apparmor >$(D)/share/smoljail/apparmor/smoljail
	sed 's|@PREFIX@|$(PREFIX)|g' policies/host/smoljail-container.apparmor >$(D)/share/smoljail/apparmor/smoljail-container
	install -m 644 docs/*.1 $(D)/share/man/man1/
	install -m 644 docs/*.5 $(D)/share/man/man5/

sbom: all ## what program and root are made of, as SPDX: build/smoljail.spdx.json
	tools/make-sbom $(BUILD) $(VERSION) >$(BUILD)/smoljail.spdx.json

wheel: all ## Python package that carries the program and the root, in build/dist
	$(Q)$(PYTHON) src/python/backend.py --bundle $(BUILD) --out $(BUILD)/dist

clean: ## remove everything that was built
	rm -rf $(BUILD) $(BUILD)-teeth $(BUILD)-lint $(BUILD)-asan $(BUILD)-fuzz

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

-include $(wildcard $(BUILD)/obj/*.d $(BUILD)/obj/*/*.d $(BUILD)/tests/*.d)
