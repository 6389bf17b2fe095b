/* The store of states "NAME": files in a folder that all machines share. Change the class Store to use your own
storage. Node.js 18 or newer.

The engine starts this program once and sends it calls, one JSON object per line; docs/state-programs.md of Tombolo
describes them. Printed text goes to standard error, and is shown with the error of a call. */
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

// Only responses may be written to standard output: everything printed from here on goes to standard error.
const answer = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

/** Fails a call. The kinds are changed, locked, lost and no_revision; without one, nobody knows what was done. */
class Failure extends Error {
  constructor(message, kind, more) {
    super(message);
    this.data = { kind, ...more };
  }
}

/** Makes a file, as a whole and durably, unless there is one. Of two who do so at the same time, one succeeds. */
function make(file, value) {
  const temp = `${file}.${crypto.randomUUID()}`;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const opened = fs.openSync(temp, 'wx', 0o600);
  try {
    fs.writeFileSync(opened, JSON.stringify(value));
    fs.fsyncSync(opened);
  } finally {
    fs.closeSync(opened);
  }
  try {
    fs.linkSync(temp, file);
  } catch (e) {
    if (e.code === 'EEXIST') return false;
    throw e;
  } finally {
    fs.unlinkSync(temp);
  }
  if (process.platform !== 'win32') syncFolder(path.dirname(file));
  return true;
}

/** Makes names in a folder durable. */
function syncFolder(folder) {
  const opened = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(opened);
  } finally {
    fs.closeSync(opened);
  }
}

/** What a file holds; null where there is none. */
function load(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (e) {
    if (e.code === 'ENOENT') return null;
    throw e;
  }
}

/** The numbers of the files in a folder that have nothing but a number for a name, in order. */
function numbers(folder) {
  try {
    return fs.readdirSync(folder).filter((name) => /^[0-9]+$/.test(name)).map(Number).sort((a, b) => a - b);
  } catch (e) {
    if (e.code === 'ENOENT') return [];
    throw e;
  }
}

const version = (number) => `${number}-${crypto.randomBytes(6).toString('hex')}`;
const kept = 100; // former states of each workspace

/** A method for each verb. States and journals have numbers, and each is made once: that is the condition. */
class Store {
  open({ config }) {
    this.folder = config.folder || 'NAME.states';
    fs.mkdirSync(this.folder, { recursive: true });
    return { features: ['journal', 'workspaces', 'conditions', 'history'] };
  }

  at(workspace, ...rest) {
    return path.join(this.folder, `workspace-${workspace}`, ...rest.map(String));
  }

  /** Refuses whoever has lost the lock. Without a lock (-lock=false), the conditions alone count. */
  held({ workspace, lock }) {
    if (lock && load(this.at(workspace, 'lock'))?.ID !== lock) {
      throw new Failure('the lock is not held any more', 'lost');
    }
  }

  workspaces() {
    const names = fs.readdirSync(this.folder).filter((name) => name.startsWith('workspace-'));
    return { workspaces: names.map((name) => name.slice(10)).filter((name) => this.newest(name).number > 0) };
  }

  /** The state with the greatest number. One that goes while it is looked at has a successor. */
  newest(workspace) {
    for (;;) {
      const number = numbers(this.at(workspace, 'states')).at(-1) ?? 0;
      if (number === 0) return { number, data: null, version: '' };
      const state = load(this.at(workspace, 'states', number));
      if (state) return { number, ...state };
    }
  }

  read({ workspace }) {
    const { data, version } = this.newest(workspace);
    return { data, version };
  }

  write(call) {
    this.held(call);
    const { workspace, data, was, serial, lineage, revision } = call;
    const there = this.newest(workspace);
    const next = there.number + 1;
    const state = { version: version(next), written: new Date().toISOString(), serial, lineage, revision, data };
    if (there.version !== was || !make(this.at(workspace, 'states', next), state)) {
      throw new Failure('another state stands there', 'changed');
    }
    for (const old of numbers(this.at(workspace, 'states'))) {
      if (old <= next - kept) fs.rmSync(this.at(workspace, 'states', old), { force: true });
    }
    return { version: state.version };
  }

  lock({ workspace, lock, info }) {
    if (make(this.at(workspace, 'lock'), { ...info, ID: lock })) return {};
    throw new Failure('somebody holds the lock', 'locked', this.holder({ workspace }));
  }

  holder({ workspace }) {
    return { holder: load(this.at(workspace, 'lock')) };
  }

  unlock(call) {
    this.held(call);
    fs.rmSync(this.at(call.workspace, 'lock'));
    return {};
  }

  delete(call) {
    this.held(call);
    for (const name of ['states', 'journals']) {
      fs.rmSync(this.at(call.workspace, name), { recursive: true, force: true });
    }
    return {};
  }

  /** The journal with the greatest number: a folder with a file for each chunk, and one that says which it is. */
  journal(workspace) {
    for (;;) {
      const number = numbers(this.at(workspace, 'journals')).at(-1) ?? 0;
      if (number === 0) return { number, version: '', chunks: [] };
      const head = load(this.at(workspace, 'journals', number));
      const folder = this.at(workspace, 'journals', `${number}.chunks`);
      const chunks = numbers(folder).map((n) => load(path.join(folder, String(n))));
      if (head && !chunks.includes(null)) {
        return { number, version: head.version, chunks: head.chunk === null ? [] : [head.chunk, ...chunks] };
      }
    }
  }

  read_journal({ workspace }) {
    const { version, chunks } = this.journal(workspace);
    return { version, chunks };
  }

  start_journal(call) {
    this.held(call);
    const { workspace, was, chunk } = call;
    const there = this.journal(workspace);
    const next = { version: version(there.number + 1), chunk };
    if (there.version !== was || !make(this.at(workspace, 'journals', there.number + 1), next)) {
      throw new Failure('another journal stands there', 'changed');
    }
    for (const old of numbers(this.at(workspace, 'journals'))) {
      if (old > there.number) continue;
      for (const name of [old, `${old}.chunks`]) {
        fs.rmSync(this.at(workspace, 'journals', name), { recursive: true, force: true });
      }
    }
    return { version: next.version };
  }

  append_journal(call) {
    this.held(call);
    const { workspace, number, chunk } = call;
    const there = this.journal(workspace);
    if (there.version !== call.version || there.chunks.length !== number ||
        !make(this.at(workspace, 'journals', `${there.number}.chunks`, number), chunk) ||
        this.journal(workspace).version !== call.version) { // somebody else has begun one meanwhile
      throw new Failure('the journal is another one, or has more chunks', 'changed');
    }
    return {};
  }

  history({ workspace }) {
    const all = numbers(this.at(workspace, 'states')).reverse().map((n) => load(this.at(workspace, 'states', n)));
    return {
      states: all.filter(Boolean).map(({ version, written, serial, lineage, revision, data }) => (
        { id: version, written, serial, lineage, revision, size: Buffer.from(data, 'base64').length })),
    };
  }

  snapshot({ workspace, id }) {
    const state = load(this.at(workspace, 'states', parseInt(id, 10)));
    if (state?.version !== id) throw new Failure('there is no such state', 'no_revision');
    return { data: state.data };
  }
}

const verbs = ['open', 'workspaces', 'read', 'write', 'lock', 'holder', 'unlock', 'delete', 'read_journal',
  'start_journal', 'append_journal', 'history', 'snapshot'];

function reply(store, method, params) {
  if (method === 'initialize') return { result: { protocol: 1 } };
  if (!verbs.includes(method)) return { error: { code: -32601, message: `no verb ${method}` } };
  try {
    return { result: store[method](params) };
  } catch (e) {
    return { error: { code: 1, message: e.message, data: e.data ?? {} } };
  }
}

async function main() {
  const store = new Store();
  for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue; // a notification, such as $/cancelRequest
    answer(JSON.stringify({ jsonrpc: '2.0', id, ...reply(store, method, params ?? {}) }) + '\n');
  }
}

main();
