'use strict';
/*
 * A client of `smoljail serve` in another language: Node's standard library, and docs/protocol.md.
 *
 * Each request takes an id of its own. Messages with that id go to its callbacks; the first that is not an
 * output, a display or a tool call settles its promise.
 */
const child_process = require('child_process');
const net = require('net');

const FRAME_MAX = 16 * 1024 * 1024;
const CHUNK = 1024 * 1024;
const PARTS = new Set(['output', 'display', 'tool_call']);

class Refused extends Error {
	constructor(message) {
		super(`${message.code}: ${message.message}`);
		this.code = message.code;
		this.hint = message.hint;
	}
}

function pack(message) {
	const body = Buffer.from(JSON.stringify(message), 'utf8');
	const head = Buffer.alloc(4);
	head.writeUInt32BE(body.length);
	return Buffer.concat([head, body]);
}

/* Calls back with each whole message, however the stream was cut. */
class Splitter {
	constructor(on_message) {
		this.on_message = on_message;
		this.rest = Buffer.alloc(0);
	}

	feed(bytes) {
		this.rest = this.rest.length ? Buffer.concat([this.rest, bytes]) : bytes;
		while (this.rest.length >= 4) {
			const length = this.rest.readUInt32BE(0);
			if (length < 1 || length > FRAME_MAX)
				throw new Error(`the server sent a frame of ${length} bytes`);
			if (this.rest.length < 4 + length)
				return;
			const text = this.rest.toString('utf8', 4, 4 + length);
			this.rest = this.rest.subarray(4 + length);
			this.on_message(JSON.parse(text));
		}
	}
}

/* "Values": what JavaScript has no number, list or object for stays as { __type__: ... }. */
function decode(value) {
	if (Array.isArray(value))
		return value.map(decode);
	if (value === null || typeof value !== 'object')
		return value;
	switch (value.__type__) {
	case undefined:
		return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item)]));
	case 'dict':
	case 'dict_with_complex_keys':
		return new Map(value.data.map(([key, item]) => [decode(key), decode(item)]));
	case 'tuple':
		return value.data.map(decode);
	case 'set':
	case 'frozenset':
		return new Set(value.data.map(decode));
	case 'bytes':
		return Buffer.from(value.data, 'base64');
	case 'int':
		return BigInt(value.data);
	case 'float':
		return { nan: NaN, inf: Infinity, '-inf': -Infinity }[value.data];
	case 'datetime':
		return new Date(value.data);
	default:
		return value;
	}
}

function encode(value) {
	if (typeof value === 'bigint')
		return { __type__: 'int', data: value.toString() };
	if (typeof value === 'number' && !Number.isFinite(value))
		return { __type__: 'float', data: Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf' };
	if (Buffer.isBuffer(value))
		return { __type__: 'bytes', data: value.toString('base64') };
	if (value instanceof Set)
		return { __type__: 'set', data: [...value].map(encode) };
	if (value instanceof Map)
		return { __type__: 'dict_with_complex_keys', data: [...value].map(([key, item]) => [encode(key), encode(item)]) };
	if (Array.isArray(value))
		return value.map(encode);
	if (value === null || value === undefined || typeof value !== 'object')
		return value === undefined ? null : value;
	if ('__type__' in value)
		return { __type__: 'dict', data: Object.entries(value).map(([key, item]) => [key, encode(item)]) };
	return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, encode(item)]));
}

class Server {
	/* Over the standard streams of a process of ours. */
	static start(program, ...options) {
		const process_ = child_process.spawn(program, ['serve', ...options], { stdio: ['pipe', 'pipe', 'inherit'] });
		const server = new Server(process_.stdout, process_.stdin);
		server.process = process_;
		server.ended = new Promise((resolve) => process_.on('close', (code, signal) => resolve({ code, signal })));
		return server;
	}

	/* To a server that listens already. */
	static connect(path) {
		const socket = net.connect(path);
		return new Server(socket, socket);
	}

	constructor(reader, writer) {
		this.writer = writer;
		this.next_id = 1;
		this.waiting = new Map();
		this.strays = [];
		this.stray_takers = [];
		const splitter = new Splitter((message) => this.take(message));
		reader.on('data', (bytes) => splitter.feed(bytes));
		this.finished = new Promise((resolve) => reader.on('close', resolve));
		reader.on('error', () => {});
		writer.on('error', () => {});
		this.finished.then(() => {
			for (const request of this.waiting.values())
				request.reject(new Error('the server closed the connection'));
			for (const taker of this.stray_takers)
				taker(null);
		});
	}

	send(message) {
		this.writer.write(pack(message));
	}

	ask(message, on = {}) {
		const id = this.next_id++;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { on, resolve, reject });
			this.send({ id, ...message });
		});
	}

	take(message) {
		const request = this.waiting.get(message.id);
		if (!request)
			return this.take_stray(message);
		if (PARTS.has(message.type))
			return request.on[message.type] && request.on[message.type](message);
		this.waiting.delete(message.id);
		if (message.type === 'error')
			request.reject(new Refused(message));
		else
			request.resolve(message);
	}

	/* Messages that answer no request of ours, in order; null at the end of the connection. */
	take_stray(message) {
		if (this.stray_takers.length)
			this.stray_takers.shift()(message);
		else
			this.strays.push(message);
	}

	stray() {
		if (this.strays.length)
			return Promise.resolve(this.strays.shift());
		return new Promise((resolve) => this.stray_takers.push(resolve));
	}

	hello() {
		return this.ask({ type: 'hello', protocol: 1, client: 'tests/other-language' });
	}

	async open(wishes = {}) {
		const opened = await this.ask({ type: 'open', ...wishes });
		return new Session(this, opened);
	}

	async shutdown() {
		await this.ask({ type: 'shutdown' });
		this.writer.end();
		return this.ended;
	}
}

class Session {
	constructor(server, opened) {
		this.server = server;
		this.opened = opened;
		this.name = opened.session;
		this.functions = {};
	}

	ask(message, on) {
		return this.server.ask({ session: this.name, ...message }, on);
	}

	/* One step. What it prints goes to on_output as it comes, and is in the result as a whole. */
	async run(code, wishes = {}, on_output = () => {}) {
		const printed = { stdout: '', stderr: '' };
		const displays = [];
		const result = await this.ask({ type: 'run', code, ...wishes }, {
			output: ({ stream, data }) => {
				printed[stream] += data;
				on_output(stream, data);
			},
			display: ({ data }) => displays.push(data),
			tool_call: (call) => this.answer(call),
		});
		return { ...result, ...printed, displays, value: decode(result.value) };
	}

	/* Calls run at once, each for itself; the session waits only for the ones that it has asked for. */
	async answer({ call, tool, args, kwargs }) {
		const answer = { type: 'tool_result', id: this.server.next_id++, session: this.name, call };
		try {
			answer.value = encode(await this.functions[tool](...args.map(decode), decode(kwargs)));
		} catch (error) {
			answer.error = { type: error.name, message: error.message };
		}
		this.server.send(answer);
	}

	tools(tools) {
		this.functions = Object.fromEntries(tools.map(({ name, run }) => [name, run]));
		return this.ask({ type: 'tools', tools: tools.map(({ run, ...rest }) => ({ kind: run ? 'rpc' : 'source', ...rest })) });
	}

	set(variables) {
		return this.ask({ type: 'set', variables: Object.fromEntries(Object.entries(variables).map(([k, v]) => [k, encode(v)])) });
	}

	async get(...names) {
		const { variables, missing } = await this.ask({ type: 'get', names });
		return { values: decode(variables), missing };
	}

	async put(path, bytes, chunk = CHUNK) {
		let offset = 0;
		do {
			const part = bytes.subarray(offset, offset + chunk);
			const last = offset + part.length >= bytes.length;
			await this.ask({ type: 'put', path, offset, last, data: part.toString('base64') });
			offset += part.length;
		} while (offset < bytes.length);
	}

	async fetch(path, length = CHUNK) {
		const parts = [];
		for (let offset = 0, last = false; !last; ) {
			const data = await this.ask({ type: 'fetch', path, offset, length });
			parts.push(Buffer.from(data.data, 'base64'));
			offset += parts[parts.length - 1].length;
			last = data.last;
		}
		return Buffer.concat(parts);
	}

	async list(path = '.') {
		return (await this.ask({ type: 'list', path })).files;
	}

	interrupt() {
		return this.ask({ type: 'interrupt' });
	}

	async close() {
		return (await this.ask({ type: 'close' })).report;
	}
}

module.exports = { Server, Session, Refused, pack, encode, decode };
