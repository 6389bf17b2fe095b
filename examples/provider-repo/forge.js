#!/usr/bin/env node
'use strict';
/*
A small forge for trials: it answers requests for pull requests like GitHub and Gitea, and keeps them in memory. The repositories are the folders
OWNER/NAME.git in a folder.

    REPO_TOKEN=secret node forge.js --folder /srv/git --port 8080

With --port 0 it takes any port, and says which; with --until-eof it ends with its standard input. PUT …/pulls/N/merge merges by moving the base
branch to the head, as long as that is possible.
*/
const { execFileSync } = require('node:child_process');
const http = require('node:http');
const path = require('node:path');

const option = (name, otherwise) => { const i = process.argv.indexOf(name); return i < 0 ? otherwise : process.argv[i + 1]; };
const folder = option('--folder', '.');
const pulls = new Map(); // by repository

const git = (repository, ...args) => execFileSync('git', ['--git-dir', path.join(folder, repository + '.git'), ...args], { stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim();

function commitOf(repository, branch) {
  try { return git(repository, 'rev-parse', '--verify', `refs/heads/${branch}`); } catch { return null; }
}

const refuse = (status, message) => Object.assign(new Error(message), { status });

/** Returns the response: a status and a value. */
function answer(method, url, body) {
  const [, repository, number, merge] = url.pathname.match(/\/repos\/([^/]+\/[^/]+)\/pulls(?:\/(\d+))?(\/merge)?$/) ?? [];
  if (!repository) throw refuse(404, 'Not Found');
  try { git(repository, 'rev-parse', '--git-dir'); } catch { throw refuse(404, 'Not Found'); }
  const list = pulls.get(repository) ?? [];
  pulls.set(repository, list);
  if (!number && method === 'GET') {
    const head = url.searchParams.get('head')?.split(':')[1];
    const size = Number(url.searchParams.get('per_page') ?? 30), from = (Number(url.searchParams.get('page') ?? 1) - 1) * size;
    return [200, list.filter((p) => !head || p.head.ref === head).slice(from, from + size)];
  }
  if (!number) {
    for (const name of [body.head, body.base]) if (!commitOf(repository, name)) throw refuse(422, `there is no branch ${name}`);
    if (list.some((p) => p.state === 'open' && p.head.ref === body.head && p.base.ref === body.base)) throw refuse(422, `A pull request already exists for ${body.head}.`);
    const pull = {
      number: list.length + 1, state: 'open', merged: false, title: body.title, body: body.body || null, head: { ref: body.head }, base: { ref: body.base },
      html_url: `http://forge.example/${repository}/pull/${list.length + 1}`,
    };
    list.push(pull);
    return [201, pull];
  }
  const pull = list[Number(number) - 1];
  if (!pull) throw refuse(404, 'Not Found');
  if (pull.state === 'open' && !commitOf(repository, pull.head.ref)) pull.state = 'closed'; // its branch was removed
  if (merge) {
    git(repository, 'update-ref', `refs/heads/${pull.base.ref}`, commitOf(repository, pull.head.ref));
    Object.assign(pull, { state: 'closed', merged: true });
  } else if (method === 'PATCH') {
    for (const name of ['title', 'body', 'state']) if (name in body) pull[name] = body[name] || (name === 'body' ? null : pull[name]);
  }
  return [200, pull];
}

const server = http.createServer(async (request, response) => {
  const send = (status, value) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  try {
    if (request.headers.authorization !== `Bearer ${process.env.REPO_TOKEN ?? ''}`) throw refuse(401, 'Bad credentials');
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    send(...answer(request.method, new URL(request.url, 'http://localhost'), text && JSON.parse(text)));
  } catch (e) {
    send(e.status ?? 500, { message: e.message });
  }
});
server.listen(Number(option('--port', 8080)), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
if (process.argv.includes('--until-eof')) process.stdin.resume().on('end', () => process.exit(0));
