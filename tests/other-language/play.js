'use strict';
/*
 * What docs/protocol.md promises, tried with the client beside this file. Prints TAP.
 */
const assert = require('assert').strict;
const child_process = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { Server, pack, encode, decode } = require('./client.js');

const SMOLJAIL = process.env.SMOLJAIL || 'build/smoljail';
const PATIENCE_MS = 30000;

const tests = [];
const test = (name, body) => tests.push({ name, body });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function refused(promise, code, words = /./) {
	const answer = await promise.then(() => null, (error) => error);
	assert.ok(answer, `not refused, ${code} expected`);
	assert.equal(answer.code, code, answer.message);
	assert.match(answer.message, words);
}

/* A frame with any bytes in it. */
function raw(body) {
	const bytes = Buffer.from(body);
	const head = Buffer.alloc(4);
	head.writeUInt32BE(bytes.length);
	return Buffer.concat([head, bytes]);
}

test('hello says who is there', async (server) => {
	const { protocol, version, python, backends, features, limits } = server.greeting;
	assert.equal(protocol, 1);
	assert.match(version, /^\d+\.\d+/);
	assert.ok(python === null || python.startsWith('3.'));
	assert.ok(backends.includes('local') && Array.isArray(features));
	assert.ok(limits.frame > 0 && limits.frame <= 16777216 && limits.sessions > 0);
});

test('steps keep state, and give the value of the last expression', async (server) => {
	const s = await server.open({ policy: 'python' });
	assert.match(s.name, /^[A-Za-z0-9._-]{1,64}$/);
	assert.equal(s.opened.backend, 'local');
	assert.match(s.opened.python, /^3\./);
	assert.ok(Array.isArray(s.opened.isolation) && typeof s.opened.enforced_by === 'object');
	await s.run('x = 20');
	const r = await s.run("print('hi')\nx + 1");
	assert.deepEqual([r.status, r.value, r.repr, r.stdout, r.state], ['ok', 21, '21', 'hi\n', 'kept']);
	assert.deepEqual([r.error, r.exit_code, r.is_final_answer], [null, null, false]);
	assert.equal(r.output.stdout, 3);
	assert.ok(r.usage.wall_ms >= 0 && Array.isArray(r.denied));
	assert.equal((await s.run('y = 5', { value: 'last_stmt' })).value, 5);
	await s.close();
});

test('output streams while the step runs', async (server) => {
	const s = await server.open();
	const heard = [];
	let answered = false;
	await s.tools([{ name: 'wait', run: async () => { await pause(50); answered = heard.join('') === 'out:a\n'; } }]);
	const r = await s.run("import sys, os\nprint('a', flush=True)\nwait()\nprint('b', file=sys.stderr)\nos.system('echo c')\nNone",
		{}, (stream, data) => heard.push(`${stream.slice(3)}:${data}`));
	assert.ok(answered, `heard before the call: ${heard}`);
	assert.deepEqual([r.stdout, r.stderr, r.value], ['a\nc\n', 'b\n', null]);
	await s.close();
});

test('tool calls: concurrent, nested, arguments by name, errors', async (server) => {
	const s = await server.open();
	let open = 0, most = 0;
	await s.tools([
		{ name: 'slow', run: async (n) => {
			most = Math.max(most, ++open);
			while (most < 4)
				await pause(5);
			open--;
			return n * n;
		} },
		{ name: 'join', run: (a, named) => `${a}-${named.b}`,
			inputs: { a: { type: 'string', description: 'first' }, b: { type: 'string', description: 'second' } }, output_type: 'string' },
		{ name: 'fail', run: (kind) => { throw Object.assign(new Error('because'), { name: kind }); } },
		{ name: 'inside', source: 'def inside(n):\n    return join(str(n), b="in")' },
	]);
	const r = await s.run('from concurrent.futures import ThreadPoolExecutor\n' +
		'with ThreadPoolExecutor(4) as pool: r = list(pool.map(slow, range(4)))\nr');
	assert.deepEqual([r.value, most], [[0, 1, 4, 9], 4]);
	assert.equal((await s.run("inside(3) + ' ' + join('x', b=join('y', b='z'))")).value, '3-in x-y-z');
	assert.equal((await s.run('join(1, 2, 3)')).error.type, 'TypeError');
	assert.equal((await s.run("try: fail('KeyError')\nexcept KeyError as e: r = e.args[0]\nr")).value, 'because');
	assert.equal((await s.run("fail('Strange')")).error.message, 'Strange: because');
	await refused(s.ask({ type: 'tool_result', call: 1, value: 1 }), 'not_running');
	await s.close();
});

test('values of every kind, both ways', async (server) => {
	const s = await server.open();
	const values = { n: null, t: true, i: -5, f: 0.5, s: 'é\u0000🙂', l: [1, ['x']], o: { a: { b: 1 } }, big: 2n ** 200n,
		inf: -Infinity, b: Buffer.from([0, 255]), set: new Set([1, 'a']), map: new Map([[1, 'one']]), odd: { __type__: 'tuple', data: [1] } };
	await s.set(values);
	const { values: got, missing } = await s.get(...Object.keys(values), 'nothing');
	assert.deepEqual(missing, ['nothing']);
	assert.deepEqual(got, { ...values, odd: new Map(Object.entries(values.odd)) });
	assert.deepEqual(decode(encode([NaN]))[0], NaN);
	const { value } = await s.run("import decimal\n[type(big).__name__, big == 2**200, odd['data'], (1, 2), decimal.Decimal('1.10')]");
	assert.deepEqual(value, ['int', true, [1], [1, 2], { __type__: 'Decimal', data: '1.10' }]);
	const opaque = await s.run('lambda: 0');
	assert.equal(opaque.value.__type__, 'opaque');
	await refused(s.ask({ type: 'set', variables: { x: { __type__: 'pickle', data: '' } } }), 'bad_message');
	await s.close();
});

test('final answers', async (server) => {
	const s = await server.open();
	const r = await s.run("done = []\ntry:\n    final_answer({'a': [1]})\nexcept Exception:\n    done.append('caught')\n" +
		"finally:\n    done.append('finally')\ndone.append('later')");
	assert.deepEqual([r.status, r.is_final_answer, r.value], ['ok', true, { a: [1] }]);
	assert.deepEqual((await s.run('done')).value, ['finally']);
	await s.tools([{ name: 'final_answer', run: (x) => `host: ${x}` }]);
	const hosted = await s.run('final_answer(7)');
	assert.deepEqual([hosted.is_final_answer, hosted.value], [true, 'host: 7']);
	await s.close();
});

test('errors name the line, and exit has its status', async (server) => {
	const s = await server.open();
	const r = await s.run('def f():\n    return 1 / 0\nf()', { filename: 'sum.py' });
	assert.equal(r.status, 'error');
	assert.deepEqual([r.error.type, r.error.message, r.error.line, r.error.source.trim()],
		['ZeroDivisionError', 'division by zero', 2, 'return 1 / 0']);
	assert.match(r.error.traceback, /sum\.py/);
	assert.equal(r.stderr, r.error.traceback);
	const left = await s.run('raise SystemExit(7)');
	assert.deepEqual([left.status, left.exit_code, left.state], ['exit', 7, 'kept']);
	await s.close();
});

test('displays', async (server) => {
	const s = await server.open();
	const r = await s.run("class Bold:\n    def _repr_html_(self): return '<b>é</b>'\ndisplay(Bold())");
	assert.deepEqual(r.displays.map((d) => Buffer.from(d['text/html'], 'base64').toString()), ['<b>é</b>']);
	await s.close();
});

test('files go in and come back in chunks, and a step lists what it made', async (server) => {
	const s = await server.open();
	const bytes = Buffer.alloc(2500000, 'smoljail');
	await s.put('in/data.bin', bytes);
	const r = await s.run("d = open('in/data.bin', 'rb').read()\nopen('out.txt', 'w').write('é')\nlen(d)");
	assert.equal(r.value, bytes.length);
	assert.deepEqual(r.files.new, ['out.txt']);
	assert.ok(bytes.equals(await s.fetch('in/data.bin')));
	assert.ok(bytes.equals(await s.fetch('in/data.bin', 300001)));
	await s.put('small', Buffer.from('abcdef'), 2);
	assert.equal((await s.fetch('small')).toString(), 'abcdef');
	await s.put('empty', Buffer.alloc(0));
	assert.equal((await s.fetch('empty')).length, 0);
	const listed = new Map((await s.list()).map((f) => [f.path, `${f.kind} ${f.size}`]));
	assert.equal(listed.get('out.txt'), 'file 2');
	assert.match(listed.get('in'), /^dir/);
	await refused(s.fetch('nowhere'), 'not_found');
	const outside = await s.put('../../etc/passwd', Buffer.from('x')).then(() => null, (error) => error.code);
	assert.ok(outside, 'a path outside the work folder');
	await refused(s.ask({ type: 'put', path: 'x', data: Buffer.alloc(1048577).toString('base64') }), 'too_large');
	await s.close();
});

test('a timeout keeps the state', async (server) => {
	const s = await server.open();
	await s.run('x = 5');
	const r = await s.run('while True: pass', { timeout: 0.3 });
	assert.deepEqual([r.status, r.state], ['timeout', 'kept']);
	assert.equal((await s.run('x')).value, 5);
	await s.close();
});

test('an interrupt, and a session that is busy', async (server) => {
	const s = await server.open();
	let busy = null;
	const r = await s.run("z = 1\nprint('in', flush=True)\nimport time\ntime.sleep(60)", {}, () => {
		busy = busy || s.run('1').then(() => null, (error) => error.code).then(async (code) => { await s.interrupt(); return code; });
	});
	assert.deepEqual([r.status, r.state, await busy], ['interrupted', 'kept', 'busy']);
	assert.equal((await s.run('z')).value, 1);
	await refused(s.interrupt(), 'not_running');
	await s.close();
});

test('os._exit resets the state, and the tools are there again', async (server) => {
	const s = await server.open();
	await s.tools([{ name: 'three', run: () => 3 }]);
	await s.run('x = 5');
	const r = await s.run('import os\nos._exit(9)');
	assert.equal(r.state, 'reset');
	assert.equal((await s.run('x')).error.type, 'NameError');
	assert.equal((await s.run('three()')).value, 3);
	await s.close();
});

test('sessions of one server know nothing of each other and run at once', async (server) => {
	const all = await Promise.all([1, 2, 3].map(() => server.open()));
	await Promise.all(all.map((s, n) => s.run(`x = ${n}`)));
	let order = '';
	await Promise.all([
		all[0].run('import time\ntime.sleep(1)').then(() => { order += 'slow'; }),
		all[1].run('1').then(() => { order += 'quick '; }),
	]);
	assert.equal(order, 'quick slow');
	assert.deepEqual((await Promise.all(all.map((s) => s.run('x')))).map((r) => r.value), [0, 1, 2]);
	const stats = await server.ask({ type: 'stats' });
	assert.deepEqual([stats.sessions, stats.running], [3, 0]);
	await Promise.all(all.map((s) => s.close()));
});

test('messages that break a rule are answered, and the connection goes on', async (server) => {
	await refused(server.ask({ type: 'nonsense' }), 'bad_message');
	await refused(server.ask({ type: 'ping', extra: 1 }), 'bad_message', /extra/);
	await refused(server.ask({ type: 'run', session: 'a' }), 'bad_message', /code/);
	await refused(server.ask({ type: 'run', session: 'a', code: 5 }), 'bad_message', /code/);
	await refused(server.ask({ type: 'run', session: 'nobody', code: '1' }), 'no_session');
	await refused(server.ask({ type: 'open', session: 'a b' }), 'bad_message');
	await refused(server.ask({ type: 'open', policy: 'no-such' }), 'bad_policy');
	await refused(server.ask({ type: 'open', limits: { memory: '1000G' } }), 'not_allowed');
	const s = await server.open({ session: 'mine' });
	assert.equal(s.name, 'mine');
	await refused(server.open({ session: 'mine' }), 'exists');
	await refused(s.ask({ type: 'fork' }), 'unsupported');
	await s.close();
	for (const body of ['{', '[1]', '{"a":1,"a":2}', Buffer.from('7b2261223a22ff227d', 'hex'), `{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
		'{"type":"ping","id":1,"x":"\\ud800"}', '{"type":"ping","id":NaN}']) {
		server.writer.write(raw(body));
		const answer = await server.stray();
		assert.deepEqual([answer.type, answer.id, answer.code], ['error', null, 'bad_frame'], `${body}: ${JSON.stringify(answer)}`);
	}
	server.writer.write(pack({ type: 'ping' }));
	assert.deepEqual((await server.stray()).code, 'bad_message');
	assert.equal((await server.ask({ type: 'ping' })).type, 'pong');
	server.send({ type: 'ping', id: 'text' });
	assert.deepEqual(await server.stray(), { type: 'pong', id: 'text' });
});

test('a close gives the report', async (server) => {
	const s = await server.open({ policy: 'python', limits: { memory: '64M' }, env: { K: 'v' } });
	assert.equal((await s.run("import os\nos.environ['K']")).value, 'v');
	const report = await s.close();
	assert.equal(report.schema, 'smoljail.report/1');
	await refused(s.run('1'), 'no_session');
});

test('a length that cannot be is the end of the connection', async () => {
	for (const head of ['00000000', '01000001', 'ffffffff']) {
		const server = Server.start(SMOLJAIL);
		await server.hello();
		server.writer.write(Buffer.from(head, 'hex'));
		const answer = await server.stray();
		assert.deepEqual([answer.type, answer.id, answer.code], ['error', null, 'bad_frame']);
		await server.finished;
		await server.ended;
	}
});

test('hello comes first, with this protocol', async () => {
	for (const message of [{ type: 'ping' }, { type: 'hello', protocol: 2 }]) {
		const server = Server.start(SMOLJAIL);
		await refused(server.ask(message), 'not_hello');
		server.writer.end();
		await server.ended;
	}
});

test('over a unix socket, and gone with its client', async () => {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'other-language-'));
	const socket = path.join(folder, 's');
	const listener = child_process.spawn(SMOLJAIL, ['serve', '--quiet', '--socket', socket], { stdio: 'inherit' });
	const ended = new Promise((resolve) => listener.on('close', resolve));
	try {
		while (!fs.existsSync(socket))
			await pause(10);
		assert.equal(fs.statSync(socket).mode & 0o777, 0o600);
		const server = Server.connect(socket);
		await server.hello();
		const s = await server.open();
		assert.equal((await s.run('6 * 7')).value, 42);
		server.writer.destroy();
		const other = Server.connect(socket);
		await other.hello();
		while ((await other.ask({ type: 'stats' })).sessions)
			await pause(10);
		await other.ask({ type: 'shutdown' });
		await ended;
	} finally {
		listener.kill();
		fs.rmSync(folder, { recursive: true, force: true });
	}
});

function within(promise, ms) {
	let timer;
	const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms); });
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function main() {
	let failed = 0;
	const server = Server.start(SMOLJAIL);
	server.greeting = await server.hello();
	for (const [n, { name, body }] of tests.entries()) {
		try {
			await within(body(server), PATIENCE_MS);
			console.log(`ok ${n + 1} - ${name}`);
		} catch (error) {
			failed++;
			console.log(`not ok ${n + 1} - ${name}`);
			console.log(String(error.stack).replace(/^/gm, '# '));
		}
	}
	const { code } = await within(server.shutdown(), PATIENCE_MS);
	console.log(`${code === 0 ? 'ok' : 'not ok'} ${tests.length + 1} - shutdown ends the server, with status 0`);
	console.log(`1..${tests.length + 1}`);
	process.exit(failed > 0 || code !== 0 ? 1 : 0);
}

main().catch((error) => {
	console.log(`Bail out! ${error.stack}`);
	process.exit(1);
});
