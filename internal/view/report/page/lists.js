// The tabs that are lists: losses, outputs, checks, drift, what stays, what is pending, the order.

// losses is the list above the tabs: what is destroyed, replaced, forgotten, and not protected any more.
function losses() {
  const rows = folded(data.losses ?? []);
  if (!rows.length) return null;
  const first = rows.length > 10 ? 8 : rows.length; // a button for one or two rows would take their place
  const list = el('ul', {}, rows.slice(0, first).map(loss));
  const box = el('section', { class: 'losses', 'aria-labelledby': 'losses' },
    el('h2', { id: 'losses' }, data.kind === 'apply' ? 'What was lost or replaced' : 'What is lost or replaced'), list);
  if (rows.length > first) {
    const more = button('Show all ' + rows.length.toLocaleString('en'), () => {
      more.remove();
      growing(list, rows.slice(first), loss);
    });
    box.append(more);
  }
  return box;
}

function loss(row) {
  const o = data.objects[row[0]];
  const name = row.length > 1 ? o.b + keys(row.map((i) => data.objects[i].a.slice(o.b.length))) : o.a;
  return el('li', {}, badge(o.f, true), jump(row[0], name), o.x ? el('span', { class: 'flag' }, 'no longer protected') : null,
    o.w ? el('span', { class: 'why' }, o.w) : null);
}

// problemText writes a problem. The line with marks below an excerpt is an element, since a narrow page, which wraps the
// excerpt, does not show it.
const problemText = (text) => text.split('\n').map((line) => (/^ *\^+$/.test(line) ? el('span', { class: 'marks' }, line + '\n') :
  line + '\n'));

// problems shows the errors before the warnings.
function problems() {
  const list = [];
  const errors = (p) => (p.severity === 'error' ? 0 : 1);
  for (const p of [...(data.problems ?? [])].sort((a, b) => errors(a) - errors(b))) {
    list.push(el('div', { class: 'note ' + p.severity }, el('pre', {}, problemText(p.text))));
  }
  for (const n of data.notes ?? []) list.push(el('div', { class: 'note ' + n.level }, el('p', {}, n.text)));
  return list.length ? el('section', { class: 'notes', 'aria-label': 'Problems and notes' }, list) : null;
}

function outputsTab(panel) {
  growing(panel, data.outputs, (o) => el('div', { class: 'row plain ' + fateClass(o.f) },
    el('h3', { class: 'address' }, o.f ? badge(o.f) : null, ' ', el('code', {}, o.n)), block(o.d)));
}

const statuses = { pass: ['\u2713', 'passed'], fail: ['\u2717', 'failed'], error: ['!', 'error'], unknown: ['?', 'not known yet'] };

function checksTab(panel) {
  growing(panel, data.checks, (c) => {
    const [sign, word] = statuses[c.s] ?? ['?', c.s];
    return el('div', { class: 'row plain check ' + c.s },
      el('p', {}, el('span', { class: 'status' }, el('span', { 'aria-hidden': 'true' }, sign + ' '), word), ' ', el('code', {}, c.a)),
      (c.f ?? []).map((text) => el('p', { class: 'failure' }, text)));
  });
}

function driftTab(panel) {
  panel.append(el('p', { class: 'intro' }, 'These objects were changed outside of ' + data.program + ' since the last apply.'));
  growing(panel, data.drift, (o) => el('details', { class: 'row ' + fateClass(o.f), open: data.drift.length <= 10 },
    el('summary', {}, badge(o.f, true), el('code', { class: 'address' }, o.a), o.w ? el('span', { class: 'why' }, o.w) : null),
    el('div', { class: 'body' }, el('p', { class: 'headline' }, o.h), o.d ? block(data.bodies[o.d - 1]) : null)));
}

function movesTab(panel) {
  panel.append(el('p', { class: 'intro' }, 'These objects only get another address. Nothing is changed outside.'));
  const list = el('ul', { class: 'names' });
  panel.append(list);
  growing(list, data.objects.filter((o) => o.f === 'move'), (o) => el('li', {}, badge('move'), ' ', o.h));
}

function sameTab(panel) {
  const same = data.objects.filter((o) => !o.f);
  const list = el('ul', { class: 'names' });
  const show = (text) => {
    const words = text.toLowerCase();
    const found = same.filter((o) => o.a.toLowerCase().includes(words));
    count.textContent = plural(found.length, 'object');
    list.replaceChildren();
    growing(list, found, (o) => el('li', {}, el('code', {}, o.a)), 500);
  };
  const search = el('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', oninput: () => show(search.value) });
  const count = el('p', { class: 'found', role: 'status' });
  panel.append(el('p', { class: 'intro' }, 'These objects stay as they are.'),
    el('div', { class: 'toolbar' }, el('label', { class: 'choice wide' }, el('span', {}, 'Search'), search)), count, list);
  show('');
}

function pendingTab(panel) {
  panel.append(el('p', { class: 'intro' }, 'The plan did not look at these parts, or leaves them as they are.'));
  const list = el('ul', { class: 'names' });
  panel.append(list);
  growing(list, data.pending, (p) => el('li', {}, el('code', {}, p.a), el('span', { class: 'why' }, p.w)));
}

const verbs = { write: 'create, change or read', destroy: 'destroy', dispose: 'destroy what was replaced' };

function orderTab(panel) {
  panel.append(el('p', { class: 'intro' }, 'What stands at one number can be done at the same time, and waits for something ' +
    'at the number before.'));
  const list = el('ol', { class: 'waves' });
  panel.append(list);
  growing(list, data.order, (steps, n) => {
    const items = el('ul', {});
    const wave = el('li', {}, el('span', { class: 'number', 'aria-hidden': 'true' }, String(n + 1)), items);
    const portion = 60;
    const show = (s) => {
      const o = data.objects[s.o[0]];
      const fate = s.k === 'write' ? (o.f === 'replace' ? 'create' : o.f) : 'destroy';
      return el('li', { class: 'stepitem ' + fateClass(fate) }, badge(fate), el('span', { class: 'unseen' }, verbs[s.k] + ' '),
        s.o.length === 1 ? jump(s.o[0], data.objects[s.o[0]].a) : [jump(s.o[0], s.b), el('span', { class: 'count' }, '\u00d7' + s.o.length.toLocaleString('en'))]);
    };
    items.append(...steps.slice(0, portion).map(show));
    if (steps.length > portion) {
      const more = el('li', { class: 'bare' }, button('Show more of ' + (steps.length - portion).toLocaleString('en'), () => {
        more.remove();
        growing(items, steps.slice(portion), show, 500);
      }));
      items.append(more);
    }
    return wave;
  });
}
