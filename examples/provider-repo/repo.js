'use strict';
// A provider for pull requests: the files are committed with git, and pull requests are opened with the API of the forge.
const { spawn } = require('node:child_process');
const fs = require('node:fs/promises');
const os = require('node:os');
const path = require('node:path');
const tombolo = require('./tombolo.js');

/** Returns a value of the provider block, or of the environment. */
function setting(call, name, required) {
  const value = call.provider[name] ?? process.env[`REPO_${name.toUpperCase()}`];
  if (!value && required) throw new tombolo.ProviderError(`No ${name}`, { detail: `Set ${name} in the provider block, or REPO_${name.toUpperCase()}.` });
  return value;
}

/** Sends one request to the forge. It returns null for what does not exist. */
async function forge(call, method, resource, body) {
  const address = setting(call, 'api', true).replace(/\/$/, '') + resource;
  const token = setting(call, 'token');
  let response, text;
  try {
    response = await fetch(address, {
      method, signal: call.signal, body: body && JSON.stringify(body),
      headers: { accept: 'application/json', 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    });
    text = await response.text();
  } catch (e) {
    if (call.signal.aborted) throw e;
    throw new tombolo.Temporary('The forge does not answer', { detail: `${method} ${address}: ${e.cause?.message || e.message}` });
  }
  if (response.status === 404) return null;
  if (response.status === 429 || response.status >= 502) throw new tombolo.Temporary('The forge is busy', { detail: `${method} ${address}: status ${response.status}` });
  if (!response.ok) throw new tombolo.ProviderError('The forge refused', { detail: `${method} ${address}: status ${response.status}: ${text.slice(0, 500)}` });
  return text ? JSON.parse(text) : {};
}

const segments = (name) => name.split('/').map(encodeURIComponent).join('/');

/** Returns the last pull request of a branch, or null. GitHub filters by head; Gitea ignores the filter. */
async function pullOf(call, { repository, branch, base }) {
  const head = encodeURIComponent(`${repository.split('/')[0]}:${branch}`);
  const found = [];
  for (let page = 1; ; page++) {
    const list = await forge(call, 'GET', `/repos/${segments(repository)}/pulls?state=all&head=${head}&page=${page}&limit=50&per_page=50`);
    if (!list) throw new tombolo.ProviderError('The repository does not exist', { detail: `The forge has no ${repository}, or the token may not read it.`, attribute: ['repository'] });
    found.push(...list.filter((p) => p.head.ref === branch && (!base || p.base.ref === base)));
    if (list.length < 50) break;
  }
  return found.sort((a, b) => b.number - a.number)[0] ?? null;
}

/** A bare repository in a temporary folder, which ends with the call. */
class Work {
  constructor(call, dir) {
    Object.assign(this, { call, dir });
    const [, name, mail] = (setting(call, 'author') ?? 'Tombolo <tombolo@localhost>').match(/^(.*) <(.*)>$/);
    this.env = {
      ...process.env, GIT_DIR: dir, GIT_INDEX_FILE: path.join(dir, 'index'), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C',
      GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: mail, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: mail,
    };
    const token = setting(call, 'token');
    if (token) { // in the environment, because all users can read the arguments of a process
      const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
      Object.assign(this.env, { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'http.extraHeader', GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}` });
    }
  }

  /** Calls a function with a repository that has the branches of the address, and removes it. */
  static async in(call, repository, branches, use) {
    const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'repo-'));
    try {
      const work = new Work(call, dir);
      work.address = `${setting(call, 'git', true).replace(/\/$/, '')}/${repository}.git`;
      await work.git(['init', '-q', '--bare', dir]);
      const refs = (await work.git(['ls-remote', '--heads', work.address])).split('\n').map((l) => l.split('\t'));
      work.heads = Object.fromEntries(refs.filter((r) => r[1]).map(([id, ref]) => [ref.replace('refs/heads/', ''), id]));
      const there = branches.filter((b) => work.heads[b]);
      if (there.length) await work.git(['fetch', '-q', '--no-tags', work.address, ...there.map((b) => `+refs/heads/${b}:refs/heads/${b}`)]);
      return await use(work);
    } finally {
      await fs.rm(dir, { recursive: true, force: true });
    }
  }

  /** Runs git, and returns what it prints. With "missing", a failure returns null. */
  git(args, { input, missing } = {}) {
    return new Promise((resolve, reject) => {
      const child = spawn('git', args, { env: this.env, signal: this.call.signal, stdio: ['pipe', 'pipe', 'pipe'] });
      const out = [], messages = [];
      child.stdout.on('data', (d) => out.push(d));
      child.stderr.on('data', (d) => messages.push(d));
      child.stdin.on('error', () => {}); // git ended before it had read everything, which its status tells
      child.on('error', reject);
      child.on('close', (status) => {
        if (status === 0) return resolve(Buffer.concat(out).toString());
        if (missing) return resolve(null);
        const detail = `git ${args[0]} ${this.address ?? ''}: ${Buffer.concat(messages).toString().trim()}`;
        reject(new tombolo.ProviderError('git failed', { detail }));
      });
      child.stdin.end(input);
    });
  }

  content(branch, file) {
    return this.git(['cat-file', 'blob', `refs/heads/${branch}:${file}`], { missing: true });
  }

  /** Returns which of some files a branch has, with their texts. */
  async contents(branch, files) {
    const all = await Promise.all(files.map(async (file) => [file, await this.content(branch, file)]));
    return Object.fromEntries(all.filter(([, text]) => text !== null));
  }

  /** Returns the files in which two branches differ, since they parted. */
  async changed(base, branch) {
    const out = await this.git(['diff', '--name-only', '-z', `refs/heads/${base}...refs/heads/${branch}`]);
    return out.split('\0').filter(Boolean);
  }

  /** Adds a commit with files to a branch, or to the base for a new branch, and pushes it. Null removes a file. Without changes, there is none. */
  async commit({ branch, base, title }, files) {
    const parent = this.heads[branch] ?? this.heads[base];
    if (!parent) throw new tombolo.ProviderError('The base branch does not exist', { detail: `${this.address} has no branch ${base}.`, attribute: ['base'] });
    await this.git(['read-tree', parent]);
    for (const [file, text] of Object.entries(files)) {
      const blob = text === null ? '0'.repeat(parent.length) : (await this.git(['hash-object', '-w', '--stdin'], { input: text })).trim();
      await this.git(['update-index', '-z', '--index-info'], { input: `${text === null ? '0' : '100644'} ${blob}\t${file}\0` });
    }
    const tree = (await this.git(['write-tree'])).trim();
    if (tree === (await this.git(['rev-parse', `${parent}^{tree}`])).trim()) {
      if (this.heads[branch]) return parent;
      throw new tombolo.ProviderError('Nothing to change', { detail: `The branch ${base} has these files already, so that a pull request would be empty.`, attribute: ['files'] });
    }
    const commit = (await this.git(['commit-tree', tree, '-p', parent, '-F', '-'], { input: title })).trim();
    // The lease refuses a push over commits that somebody has made since.
    await this.git(['push', '-q', `--force-with-lease=refs/heads/${branch}:${this.heads[branch] ?? ''}`, this.address, `${commit}:refs/heads/${branch}`]);
    return commit;
  }
}

class Change extends tombolo.Resource {
  async create(call) {
    const p = call.planned;
    const commit = await Work.in(call, p.repository, [p.base, p.branch], async (work) => {
      // A branch with exactly the planned files is what an interrupted creation left.
      if (work.heads[p.branch]) {
        const changed = await work.changed(p.base, p.branch);
        const there = await work.contents(p.branch, changed);
        const same = changed.every((file) => p.files[file] === there[file]) && changed.length > 0;
        if (!same) {
          const detail = `${p.repository} has a branch ${p.branch} with other changes. Import it with the id ${p.repository}:${p.branch}, or choose another name.`;
          throw new tombolo.ProviderError('The branch exists already', { detail, attribute: ['branch'] });
        }
      }
      return work.commit(p, p.files);
    });
    let pull = await pullOf(call, p);
    if (pull?.state !== 'open') {
      pull = await forge(call, 'POST', `/repos/${segments(p.repository)}/pulls`, { title: p.title, body: p.body, head: p.branch, base: p.base });
      if (!pull) throw new tombolo.ProviderError('The pull request was not opened', { detail: `The forge has no repository ${p.repository}, or the token may not open pull requests there.` });
    } else if (pull.title !== p.title || (pull.body ?? '') !== p.body) {
      await forge(call, 'PATCH', `/repos/${segments(p.repository)}/pulls/${pull.number}`, { title: p.title, body: p.body });
    }
    return { id: `${p.repository}:${p.branch}`, number: pull.number, url: pull.html_url, commit, merged: false };
  }

  async read(call) {
    const s = call.state;
    const pull = await forge(call, 'GET', `/repos/${segments(s.repository)}/pulls/${s.number}`);
    if (!pull) return null;
    if (pull.merged || pull.merged_at) return { merged: true };
    if (pull.state !== 'open') return null;
    return Work.in(call, s.repository, [s.branch], async (work) => {
      if (!work.heads[s.branch]) return null;
      const files = await work.contents(s.branch, Object.keys(s.files));
      return { files, title: pull.title, body: pull.body ?? '', commit: work.heads[s.branch], merged: false };
    });
  }

  async update(call) {
    const { planned: p, prior } = call;
    const pull = await forge(call, 'GET', `/repos/${segments(p.repository)}/pulls/${prior.number}`);
    if (!pull || pull.state !== 'open') {
      const detail = `Pull request ${prior.number} of ${p.repository} is no longer open. Give the branch another name for further changes.`;
      throw new tombolo.ProviderError('The pull request is closed', { detail, attribute: ['branch'] });
    }
    const commit = await Work.in(call, p.repository, [p.base, p.branch], async (work) => {
      if (!work.heads[p.branch]) throw new tombolo.ProviderError('The branch is gone', { detail: `Somebody removed ${p.branch} of ${p.repository} since it was read. Plan again.` });
      const files = { ...p.files };
      for (const file of Object.keys(prior.files)) if (!(file in files)) files[file] = await work.content(p.base, file);
      return work.commit(p, files);
    });
    await forge(call, 'PATCH', `/repos/${segments(p.repository)}/pulls/${prior.number}`, { title: p.title, body: p.body });
    return { commit, merged: false };
  }

  /** Closes the pull request and removes the branch. What has been merged stays in the base branch. */
  async delete(call) {
    const s = call.state;
    const pull = s.number && await forge(call, 'GET', `/repos/${segments(s.repository)}/pulls/${s.number}`);
    if (pull?.state === 'open') await forge(call, 'PATCH', `/repos/${segments(s.repository)}/pulls/${s.number}`, { state: 'closed' });
    await Work.in(call, s.repository, [], async (work) => {
      const head = work.heads[s.branch];
      if (head) await work.git(['push', '-q', `--force-with-lease=refs/heads/${s.branch}:${head}`, work.address, `:refs/heads/${s.branch}`]);
    });
  }

  async import(call) {
    const id = call.identity?.id ?? call.id;
    const match = id.match(/^([^/:]+\/[^/:]+):(.+)$/);
    if (!match) throw new tombolo.ProviderError('The id of an import is not valid', { detail: `"${id}" must have the form OWNER/REPOSITORY:BRANCH, such as team/website:motd.` });
    const [, repository, branch] = match;
    const pull = await pullOf(call, { repository, branch });
    if (pull?.state !== 'open') return null;
    return Work.in(call, repository, [pull.base.ref, branch], async (work) => {
      if (!work.heads[branch]) return null;
      const files = await work.contents(branch, await work.changed(pull.base.ref, branch));
      return {
        id, repository, branch, base: pull.base.ref, files, title: pull.title, body: pull.body ?? '', number: pull.number, url: pull.html_url,
        commit: work.heads[branch], merged: false,
      };
    });
  }
}

tombolo.run({ resources: { repo_change: Change } });
