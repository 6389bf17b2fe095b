'use strict';
// Items are JSON files in a folder.
const fs = require('node:fs');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');

const tombolo = require('./tombolo.js');

console.log('what is printed before is no answer');

class Item extends tombolo.Resource {
  path(call, id) { return path.join(call.provider.root, id + '.json'); }

  async validate(call) {
    if (call.config.name === 'bad') throw new tombolo.ProviderError('No such name', { attribute: ['name'] });
  }

  async create(call) {
    const id = randomUUID();
    if (call.planned.slow) {
      call.progress('waiting', 0.5);
      await sleep(call.planned.slow * 1000, null, { signal: call.signal });
    }
    if (call.planned.name === 'half') {
      call.made({ id });
      call.warn('Half is done');
      throw new tombolo.ProviderError('Only half', { detail: 'the other half is missing' });
    }
    console.log('nor during a call');
    call.keep({ made: true });
    return this.store(call, { ...call.planned, id });
  }

  async update(call) {
    if (!call.private || !call.private.made) throw new tombolo.ProviderError('The private data is missing');
    return this.store(call, { ...call.planned });
  }

  store(call, item) {
    item.shout = item.name.toUpperCase();
    fs.writeFileSync(this.path(call, item.id), JSON.stringify(item));
    return item;
  }

  async read(call) {
    try {
      return JSON.parse(fs.readFileSync(this.path(call, call.state.id), 'utf8'));
    } catch (e) {
      if (e.code === 'ENOENT') return null;
      throw e;
    }
  }

  async delete(call) { fs.rmSync(this.path(call, call.state.id), { force: true }); }

  * list(call) {
    for (const name of fs.readdirSync(call.provider.root).sort()) {
      if (!name.endsWith('.json')) continue;
      const item = JSON.parse(fs.readFileSync(path.join(call.provider.root, name), 'utf8'));
      if (!item.name.startsWith(call.config.prefix)) continue;
      yield { identity: { id: item.id }, display_name: item.name, object: call.include_object ? item : undefined };
    }
  }

  async import(call) {
    const id = call.identity ? call.identity.id : call.id;
    return fs.existsSync(this.path(call, id)) ? { id } : null;
  }
}

class Append extends tombolo.Action {
  plan(call) {
    if (call.config.text === '') throw new tombolo.ProviderError('Nothing to append', { attribute: ['text'] });
  }
  invoke(call) {
    call.progress('appending', 0.5);
    fs.appendFileSync(path.join(call.provider.root, 'log'), call.config.text);
    call.warn('Appended');
  }
}

class Count extends tombolo.DataSource {
  data(call) { return { files: fs.readdirSync(call.config.folder).length }; }
}

class Token extends tombolo.Ephemeral {
  open(call) {
    call.keep({ lease: 7 });
    return { token: 't-' + call.config.scope };
  }
  close(call) {
    if (call.private.lease !== 7) throw new tombolo.ProviderError('no lease');
  }
}

tombolo.run({
  resources: { kit_item: Item },
  data: { kit_count: Count },
  ephemeral: { kit_token: Token },
  actions: { kit_append: Append },
  functions: {
    upper(text) {
      if (text === '') throw new tombolo.ProviderError('it is empty', { argument: 0 });
      return text.toUpperCase();
    },
  },
  configure(call) {
    if (call.provider.root === '') throw new tombolo.ProviderError('There is no root', { attribute: ['root'] });
  },
});
