// The frame of the page: reads the document, shows the summary and the tabs.

const tabs = [
  ['changes', () => (data.kind === 'state' ? 'Objects' : 'Changes'), () => changes.length, changesTab],
  ['drift', () => 'Changed outside', () => data.drift?.length, driftTab],
  ['moves', () => 'Moves', () => data.objects.filter((o) => o.f === 'move').length, movesTab],
  ['outputs', () => 'Outputs', () => data.outputs?.length, outputsTab],
  ['checks', () => 'Checks', () => data.checks?.length, checksTab],
  ['pending', () => 'Not checked', () => data.pending?.length, pendingTab],
  ['graph', () => 'Graph', () => data.graphs?.[0].after.filter(Boolean).length, graphTab],
  ['order', () => 'Order', () => data.order?.length, orderTab],
  ['timeline', () => 'Timeline', () => data.timeline?.length, timelineTab],
  ['same', () => 'Unchanged', () => data.kind !== 'state' && data.objects.filter((o) => !o.f).length, sameTab],
];

function changesTab(panel) {
  panel.append(toolbar(), el('p', { class: 'found', id: 'found', role: 'status' }), el('div', { id: 'list' }));
  showList();
}

// tiles count the changes by what becomes of the objects.
function tiles() {
  const counts = new Map();
  for (const o of data.objects) if (o.f) counts.set(o.f, (counts.get(o.f) ?? 0) + 1);
  return Object.keys(fates).filter((f) => counts.has(f)).map((f) => el('div', { class: 'tile ' + fateClass(f) },
    el('span', { class: 'big' }, counts.get(f).toLocaleString('en')), badge(f, true)));
}

function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const b = button('', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    name();
    if (state.tab === 'graph') draw();
  }, { class: 'theme' });
  const name = () => { b.textContent = dark() ? 'Light' : 'Dark'; };
  name();
  return b;
}

function summary() {
  const when = new Date(data.created);
  return el('header', { class: 'top' },
    el('div', { class: 'bar' }, el('p', { class: 'mark' }, data.program + (data.version ? ' ' + data.version : '')), el('span', {}, back(), themeButton())),
    el('h1', {}, data.title, data.failed ? el('span', { class: 'outcome failed' }, 'with errors') : null),
    el('p', { class: 'sub' }, el('strong', {}, data.headline),
      data.workspace && data.workspace !== 'default' ? [' in workspace ', el('code', {}, data.workspace)] : null,
      ' \u00b7 ', el('time', { datetime: data.created }, when.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' }))),
    el('div', { class: 'tiles' }, tiles()));
}

// scrollToTabs scrolls the tabs to the top if what the chosen one shows would begin in the lower half of the window.
function scrollToTabs(list) {
  if (list.getBoundingClientRect().bottom > window.innerHeight / 2) list.scrollIntoView({ block: 'start' });
}

// tabList follows the pattern of the ARIA Authoring Practices: arrow keys choose, one tab is in the order of focus.
function tabList(shown) {
  const list = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Parts of the report' }, shown.map(([id, label, count]) =>
    el('button', { type: 'button', role: 'tab', id: 'tab-' + id, 'aria-controls': 'panel', onclick: () => open(id) },
      label(), el('span', { class: 'number' }, count().toLocaleString('en')))));
  const open = (id) => {
    state.tab = id;
    update.tab();
    scrollToTabs(list);
  };
  list.addEventListener('keydown', (e) => {
    const at = shown.findIndex(([id]) => id === state.tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: shown.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    open(shown[(to + shown.length) % shown.length][0]);
    document.getElementById('tab-' + state.tab).focus();
  });
  return list;
}

function start() {
  document.title = data.title + ': ' + data.headline;
  index();
  const shown = tabs.filter(([id, , count]) => count() > 0 || id === 'changes');
  state = { tab: 'changes', filter: emptyFilter() };
  const panel = el('div', { id: 'panel', role: 'tabpanel', tabindex: '-1' });
  update = {
    list: showList,
    tab: () => {
      for (const [id] of shown) {
        const tab = document.getElementById('tab-' + id);
        tab.setAttribute('aria-selected', String(id === state.tab));
        tab.tabIndex = id === state.tab ? 0 : -1;
      }
      panel.setAttribute('aria-labelledby', 'tab-' + state.tab);
      panel.replaceChildren(el('h2', { class: 'unseen' }, tabs.find(([id]) => id === state.tab)[1]()));
      tabs.find(([id]) => id === state.tab)[3](panel);
    },
  };
  document.body.replaceChildren(summary(), el('main', {}, problems(), losses(), tabList(shown), panel),
    el('p', { id: 'said', class: 'unseen', role: 'status' }), el('span', { id: 'probe', hidden: true }));
  update.tab();
  document.addEventListener('keydown', (e) => {
    if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    e.preventDefault();
    state.tab = 'changes';
    update.tab();
    document.getElementById('search').focus();
  });
  document.documentElement.dataset.ready = 'true';
}

async function read() {
  const bytes = Uint8Array.from(atob(document.getElementById('payload').textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  data = opened(await new Response(stream).json());
  if (data) start();
  else overview();
}

read().catch((error) => {
  document.body.append(el('p', { class: 'note error', role: 'alert' }, 'The report cannot be shown: ' + error));
});
