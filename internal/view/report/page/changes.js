// The list of changes: rows that open, with differences and reasons.

let rowOf; // by object, its row's place in the list
let entries; // what the list shows: headings and rows, in their order
let showUntil; // shows the list up to an entry

// nodesOf lists the objects of each node of the graph.
let nodesOf;

function index() {
  changes = [];
  nodesOf = new Map();
  data.objects.forEach((o, i) => {
    if (isChange(o)) changes.push(i);
    if (!o.n) return;
    if (!nodesOf.has(o.n - 1)) nodesOf.set(o.n - 1, []);
    nodesOf.get(o.n - 1).push(i);
  });
}

const whole = () => data.graphs?.[data.graphs.length - 1];

function nodeName(n) {
  const { nodes, modules } = whole();
  const path = modules[nodes[n].m].p;
  return (path ? path + '.' : '') + nodes[n].n;
}

// fateOfNode is the most dangerous fate of a node's objects.
function fateOfNode(n) {
  const order = Object.keys(fates);
  let least = order.length;
  for (const i of nodesOf.get(n) ?? []) {
    const at = order.indexOf(data.objects[i].f);
    if (at >= 0 && at < least) least = at;
  }
  return order[least] ?? '';
}

function showList() {
  const list = document.getElementById('list');
  const found = matching();
  const groups = grouped(folded(found));
  entries = [];
  rowOf = new Map();
  for (const [name, rows] of groups) {
    if (groups.length > 1 || name && state.filter.group !== 'none') entries.push({ name, rows });
    for (const row of rows) {
      for (const i of row) rowOf.set(i, entries.length);
      entries.push({ row });
    }
  }
  const what = data.kind === 'state' ? 'object' : 'change';
  document.getElementById('found').textContent = found.length === changes.length ? plural(found.length, what) :
    found.length.toLocaleString('en') + ' of ' + plural(changes.length, what);
  list.replaceChildren();
  if (!entries.length) {
    list.append(el('p', { class: 'empty' }, changes.length ? 'Nothing matches the filter. ' : 'Nothing changes.',
      changes.length ? button('Clear the filter', clearFilter) : null));
  }
  const few = entries.length <= 16 && data.kind !== 'state';
  showUntil = growing(list, entries, (e) => (e.row ? rowElement(e.row, few) : heading(e)));
}

function clearFilter() {
  state.filter = emptyFilter();
  update.tab();
}

function heading({ name, rows }) {
  const counts = new Map();
  for (const row of rows) for (const i of row) {
    const f = data.objects[i].f ?? '';
    counts.set(f, (counts.get(f) ?? 0) + 1);
  }
  const label = state.filter.group === 'action' ? fates[name]?.[1] ?? 'no change' : name || 'root module';
  return el('h3', { class: 'group' }, el('span', {}, label), Object.keys(fates).filter((f) => counts.has(f)).map((f) =>
    el('span', { class: 'tally' }, badge(f), el('span', {}, counts.get(f).toLocaleString('en')))));
}

function rowElement(row, open) {
  const o = data.objects[row[0]];
  const many = row.length > 1;
  const details = el('details', { class: 'row ' + fateClass(o.f), id: 'o' + row[0] },
    el('summary', {},
      o.f ? badge(o.f) : null,
      el('code', { class: 'address' }, many ? o.b + keys(row.map((i) => data.objects[i].a.slice(o.b.length))) : o.a),
      many ? el('span', { class: 'count' }, plural(row.length, 'object') + ', the same change') : null,
      o.x ? el('span', { class: 'flag' }, 'no longer protected') : null,
      outcome(o.o),
      o.w ? el('span', { class: 'why' }, o.w) : null));
  let filled = false;
  const fill = () => {
    if (details.open && !filled) {
      filled = true;
      details.append(rowBody(row));
    }
  };
  details.addEventListener('toggle', fill);
  if (open) {
    details.open = true;
    fill();
  }
  return details;
}

function rowBody(row) {
  const o = data.objects[row[0]];
  const body = el('div', { class: 'body' });
  if (row.length === 1 && o.h && data.kind !== 'state') body.append(el('p', { class: 'headline' }, o.h));
  for (const r of o.r ?? []) body.append(el('p', { class: 'remark' }, r));
  if (row.length > 1) {
    body.append(el('details', { class: 'all' }, el('summary', {}, 'All ' + plural(row.length, 'object')),
      el('ul', {}, row.map((i) => el('li', {}, el('code', {}, data.objects[i].a))))));
  }
  body.append(...chain(row[0]));
  if (o.d) {
    const place = el('div', {}, block(data.bodies[o.d - 1]));
    body.append(place);
    if (o.l) {
      let full = false;
      const more = button('Show long values in full', () => {
        full = !full;
        place.replaceChildren(block(data.bodies[(full ? o.l : o.d) - 1]));
        more.textContent = full ? 'Show long values cut' : 'Show long values in full';
      });
      body.append(more);
    }
  }
  body.append(links(o));
  return body;
}

// reasonOf returns the objects whose changes are the reason for a change, those that need not wait for each other.
const reasonOf = (i) => (data.objects[i].c ?? []).flatMap((n) => (nodesOf.get(n) ?? []).filter((j) => data.objects[j].f)
  .slice(0, 1));

// pathOf returns how it comes to a change: the objects from the first cause to it.
function pathOf(i) {
  const path = [i];
  const seen = new Set(path);
  for (;;) {
    const next = reasonOf(path[0]).find((j) => !seen.has(j));
    if (next === undefined) return path;
    seen.add(next);
    path.unshift(next);
  }
}

// chain explains a change that others cause.
function chain(i) {
  const path = pathOf(i);
  if (path.length < 2) return [];
  const o = data.objects[i];
  return [el('h4', {}, 'Why is this ' + ({ replace: 'replaced', read: 'read' }[o.f] ?? 'changed') + '?'),
    el('ol', { class: 'chain' }, path.map((j) => {
      const p = data.objects[j];
      const many = p.n && j !== i ? nodesOf.get(p.n - 1).filter((k) => data.objects[k].f === p.f).length : 1;
      return el('li', {}, badge(p.f, true), ' ', j === i ? el('code', {}, p.a) : jump(j, many > 1 ? nodeName(p.n - 1) : p.a),
        many > 1 ? el('span', { class: 'count' }, '\u00d7' + many) : null,
        p.w ? el('span', { class: 'why' }, p.w) : null);
    }))];
}

// jump leads to an object in the list.
function jump(i, text) {
  return button(el('code', {}, text), () => goTo(i), { class: 'link' });
}

function goTo(i) {
  if (!isChange(data.objects[i])) return;
  if (!rowOf?.has(i)) state.filter = emptyFilter();
  state.tab = 'changes';
  update.tab();
  if (!rowOf.has(i)) return;
  const at = rowOf.get(i);
  showUntil(at);
  const details = document.getElementById('o' + entries[at].row[0]);
  details.open = true;
  details.querySelector('summary').focus();
  details.scrollIntoView({ block: 'start' });
}

// links lead from an object to what it depends on and to what depends on it.
function links(o) {
  const box = el('dl', { class: 'facts' });
  const fact = (name, ...content) => box.append(el('div', {}, el('dt', {}, name), el('dd', {}, content)));
  fact('Provider', el('code', {}, o.p));
  if (!o.n || !whole()) return box;
  const node = o.n - 1;
  const names = (list) => list.slice(0, 12).map((n) => nodeLink(n)).concat(list.length > 12 ? [`and ${list.length - 12} more`] : []);
  const after = whole().after[node] ?? [];
  if (after.length) fact('Waits for', names(after));
  const needed = neededBy()[node];
  if (needed.length) fact('Awaited by', names(needed));
  fact('Graph', button('Show in the graph', () => focusNode(node), { class: 'link' }));
  return box;
}

function nodeLink(n) {
  const list = (nodesOf.get(n) ?? []).filter((i) => isChange(data.objects[i]));
  const f = fateOfNode(n);
  if (list.length === 1) return el('span', { class: 'node' }, f ? badge(f) : null, jump(list[0], nodeName(n)));
  return el('span', { class: 'node' }, f ? badge(f) : null,
    button(el('code', {}, nodeName(n)), () => focusNode(n), { class: 'link' }));
}

// neededBy is the graph the other way round.
let reversed;
function neededBy() {
  if (!reversed) {
    reversed = whole().nodes.map(() => []);
    whole().after.forEach((deps, n) => deps?.forEach((d) => reversed[d].push(n)));
  }
  return reversed;
}
