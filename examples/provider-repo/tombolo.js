'use strict';
/*
Program providers for Tombolo as classes: one file without dependencies, to copy beside a provider. Node.js 18 or newer.

    const tombolo = require('./tombolo.js');

    class Note extends tombolo.Resource {
      async create(call) {
        await fs.writeFile(call.planned.path, call.planned.text);
        return { id: call.planned.path };
      }
      async read(call) { ... }   // an object with the current attributes, or null if it no longer exists
    }

    tombolo.run({ resources: { notes_note: Note } });

A method has the name of an action of docs/program-protocol.md, and may be asynchronous. It returns the attributes that it knows; those that it leaves
out are unchanged. "implements" in the manifest lists the actions.

The same program works with "mode": "one-shot" and "mode": "session" in the manifest. In a session, objects of the classes live as long as
the process, and with "concurrency" above 1 calls overlap where methods wait. To debug it, start it in an editor with TOMBOLO_LISTEN=/path/of/a.sock.

Output that is logged after the import goes to standard error and is shown to the user. Numbers are JavaScript numbers: those that are returned unchanged
stay exact; if others must be, "encoding": "string" in the manifest makes them strings.
*/

// From here on, only responses are written to standard output, whatever the program prints.
const answer = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

/** Fails a call with a message for the user. attribute is a path such as ['tags', 'env']; argument the number of a function's argument. */
class ProviderError extends Error {
  constructor(summary, { detail = '', attribute, argument } = {}) {
    super(summary);
    Object.assign(this, { detail, attribute, argument });
  }
}
/** Requests a retry: see "retry" in the manifest. */
class Temporary extends ProviderError {}
/** The call was cancelled. */
class Cancelled extends ProviderError {
  constructor() { super('The call was cancelled'); }
}

/**
 * create, read, update and delete and, if the manifest lists them, validate, plan, import, upgrade and list, which returns results: objects with identity,
 * display_name and object.
 */
class Resource {}
/** data and, if the manifest lists it, validate. */
class DataSource {}
/** open and, if the manifest lists them, validate, renew and close. */
class Ephemeral {}
/** invoke, which returns nothing and, if the manifest lists them, validate and plan. */
class Action {}

/**
 * One call: the members of its request (config, planned, prior, state, private, identity, id, provider, planned_unknown and so on), and methods to report
 * more than the result. signal is aborted when the call is cancelled: pass it to functions that accept one.
 */
class Call {
  #say; #controller = new AbortController();
  constructor(params, say) {
    Object.assign(this, params);
    this.#say = say;
    Object.defineProperties(this, { warnings: { value: [] }, extra: { value: {} } });
  }
  get signal() { return this.#controller.signal; }
  cancel() { this.#controller.abort(new Cancelled()); }
  /** Stores any JSON value with the object, for private of later calls. */
  keep(value) { this.extra.private = checked(value); }
  /** Reports the identity of the object. */
  identify(identity) { this.extra.identity = checked(identity); }
  /** Reports what already exists, so that it is stored if the call fails later. */
  made(attributes) { this.extra.state = checked(attributes); }
  /** Reports when an ephemeral object has to be renewed, as an RFC 3339 time. */
  renewAt(time) { this.extra.renew_at = time; }
  warn(summary, { detail, attribute } = {}) { this.warnings.push({ severity: 'warning', summary, detail, attribute }); }
  /**
   * Returns the output values of a state of another configuration, or null if there is none. The host reads it: the method ends here and is called
   * again from the beginning, so it must not have had any effect before. Not in create, update and delete.
   */
  remoteState(backend, config = {}, workspace = 'default') {
    const name = JSON.stringify({ backend, workspace, config });
    const have = this.remote_state || {};
    if (name in have) return have[name];
    throw new Asking(Object.fromEntries([...Object.keys(have), name].map((one) => [one, JSON.parse(one)])));
  }
  /** Reports the progress of the call, and ends it if it was cancelled. */
  progress(message, fraction) {
    this.#say(message, fraction);
    this.signal.throwIfAborted();
  }
}

class Missing extends Error {}

/** Ends a method until the host has read the states that it needs. */
class Asking extends Error {
  constructor(states) {
    super('states are needed');
    this.states = states;
  }
}

const STATEFUL = ['create', 'read', 'update', 'import', 'upgrade', 'data'];

class Host {
  constructor({ resources, data, ephemeral, actions, functions, configure, validate, schema }) {
    this.answer = answer;
    const made = (group) => new Map(Object.entries(group || {}).map(([name, cls]) => [name, new cls()]));
    this.kinds = [made(resources), made(data), made(ephemeral), made(actions)];
    this.functions = functions || {};
    this.provider = { configure, validate, schema: schema && (async (call) => ({ schema: await schema(call) })) };
  }

  write(message) { return new Promise((done) => this.answer((typeof message === 'string' ? message : JSON.stringify(message)) + '\n', done)); }

  find(action, call) {
    if (action === 'call') return this.functions[call.function];
    if (call.type === undefined) return this.provider[action];
    let kinds = this.kinds;
    if (action === 'data') kinds = [this.kinds[1]];
    if (['open', 'renew', 'close'].includes(action)) kinds = [this.kinds[2]];
    if (action === 'invoke') kinds = [this.kinds[3]];
    for (const kind of kinds) {
      const target = kind.get(call.type);
      if (target && typeof target[action] === 'function') return target[action].bind(target);
    }
    return undefined;
  }

  async perform(action, call) {
    const method = this.find(action, call);
    if (!method) throw new Missing(`The program does not know ${action} of ${call.type || call.function || 'the provider'}.`);
    if (action === 'call') {
      try {
        return { result: orNull(await method(...call.args)) };
      } catch (e) {
        if (!(e instanceof ProviderError)) throw e;
        return { error: { message: [e.message, e.detail].filter(Boolean).join(': '), argument: e.argument } };
      }
    }
    let result;
    try {
      result = await method(call);
    } catch (e) {
      if (e instanceof Asking) return { remote_state: e.states };
      throw e;
    }
    let answer;
    if (STATEFUL.includes(action)) answer = { ...call.extra, state: orNull(result) };
    else if (action === 'open') answer = { ...call.extra, result: orNull(result) };
    else if (action === 'list') answer = { results: [...(result || [])] };
    else if (['renew', 'delete', 'close', 'invoke'].includes(action)) answer = { ...call.extra, state: undefined };
    else answer = { ...result };
    if (call.warnings.length > 0) answer.diagnostics = [...call.warnings, ...(answer.diagnostics || [])];
    return answer;
  }

  /** The output of a failed call. */
  failure(call, error) {
    if (call.signal.aborted && error && error.name === 'AbortError') error = new Cancelled();
    const problem = { severity: 'error', summary: String((error && error.message) || error) || 'It failed', detail: error && error.detail, attribute: error && error.attribute };
    if (!(error instanceof ProviderError)) {
      console.error(error);
      problem.detail = where(error);
    }
    const code = error instanceof Temporary ? 75 : error instanceof Cancelled ? -32800 : 1;
    return { code, message: problem.summary, data: { ...call.extra, diagnostics: [...call.warnings, problem] } };
  }

  async oneShot(action) {
    const text = [];
    for await (const chunk of process.stdin) text.push(chunk);
    const call = new Call(JSON.parse(Buffer.concat(text).toString('utf8')), (message, fraction) => {
      process.stderr.write(JSON.stringify({ '@level': 'info', '@message': message, '@progress': fraction }) + '\n');
    });
    process.once('SIGTERM', () => call.cancel());
    try {
      await this.write(JSON.stringify(await this.until(call, this.perform(action, call))));
      process.exit(0);
    } catch (e) {
      if (e instanceof Missing) {
        console.error(e.message);
        process.exit(1);
      }
      const { code, data } = this.failure(call, e);
      await this.write(data);
      process.exit(code === 75 ? 75 : 1);
    }
  }

  /** Waits for a result, or for the cancellation of the call. */
  until(call, result) {
    return new Promise((done, failed) => {
      result.then(done, failed);
      call.signal.addEventListener('abort', () => setTimeout(() => failed(new Cancelled()), 5000).unref());
    });
  }

  async session(input) {
    const calls = new Map();
    const lines = require('node:readline').createInterface({ input, crlfDelay: Infinity });
    for await (const line of lines) {
      const { id, method, params = {} } = JSON.parse(line);
      if (method === 'initialize' && params.attached) { // this process was not started by the host
        Object.assign(process.env, params.attached.environment);
        process.chdir(params.attached.directory);
      }
      if (method === 'initialize') this.write({ jsonrpc: '2.0', id, result: { protocol: 1 } });
      else if (method === '$/cancelRequest') calls.get(params.id)?.cancel();
      else if (id !== undefined) this.serve(calls, id, method, params);
    }
  }

  /** Serves a session for each connection to a socket, which only this user can reach, until the process is ended. */
  listen(path) {
    const fs = require('node:fs');
    if (fs.lstatSync(path, { throwIfNoEntry: false })?.isSocket()) fs.rmSync(path); // of a program that was killed
    const mask = process.umask(0o177);
    const server = require('node:net').createServer({ allowHalfOpen: true }, (connection) => {
      const host = Object.assign(Object.create(this), { answer: connection.write.bind(connection) });
      connection.on('error', () => connection.destroy()); // the host has ended
      host.session(connection).catch(console.error).then(() => connection.end());
    });
    server.listen(path, () => console.error('Waiting for connections. The host needs this variable in its environment, with the name of your provider: ' +
      `TOMBOLO_PROGRAM_DEBUG=NAME=unix:${require('node:path').resolve(path)}`));
    process.umask(mask);
  }

  async serve(calls, id, action, params) {
    const call = new Call(params, (message, fraction) => this.write({ jsonrpc: '2.0', method: '$/progress', params: { id, message, fraction } }));
    calls.set(id, call);
    let reply;
    try {
      reply = JSON.stringify({ jsonrpc: '2.0', id, result: await this.perform(action, call) });
    } catch (e) {
      reply = { jsonrpc: '2.0', id, error: e instanceof Missing ? { code: -32601, message: e.message } : this.failure(call, e) };
    }
    calls.delete(id);
    this.write(reply);
  }
}

/** Returns the position of a failure: the last one in a file beside this one, because the others are in libraries. */
function where(error) {
  for (const line of String((error && error.stack) || '').split('\n')) {
    const [, path, number] = /^\s+at (?:.*\()?(?:file:\/\/)?(.+?):(\d+):\d+\)?$/.exec(line) || [];
    if (path && path !== __filename && path.startsWith(__dirname) && !path.includes('node_modules')) {
      return `The program has a bug: ${path.slice(__dirname.length + 1)}, line ${number}. All of the way there is in what it wrote to standard error.`;
    }
  }
  return 'The program has a bug; the way there is in what it wrote to standard error.';
}

/** Returns a value of JSON, or throws here, so that the line of the program that is at fault is shown. */
function checked(value) {
  JSON.stringify(value);
  return value;
}

const orNull = (value) => (value === undefined ? null : value);

/**
 * Handles the calls of the host. resources, data, ephemeral and actions are classes by type name; functions get the arguments; configure, validate
 * and schema get a call. schema returns the schema, for manifests without one.
 */
function run(provider) {
  const host = new Host(provider);
  if (process.argv.length > 2) return host.oneShot(process.argv[2]);
  if (process.env.TOMBOLO_LISTEN) return host.listen(process.env.TOMBOLO_LISTEN);
  return host.session(process.stdin).then(() => process.exit(0));
}

module.exports = { Action, Call, Cancelled, DataSource, Ephemeral, Error: ProviderError, ProviderError, Resource, Temporary, run };
