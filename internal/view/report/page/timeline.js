// The tab with the durations of an apply.

function timelineTab(panel) {
  const bars = data.timeline;
  const end = Math.max(1, ...bars.map((b) => b.t + b.e));
  const total = bars.reduce((sum, b) => sum + b.e, 0);
  panel.append(el('p', { class: 'intro' }, `${plural(bars.length, 'operation')} in ${time(end)}, ` +
    `${(total / end).toFixed(1)} at the same time on average.`));
  const body = el('tbody', {});
  const table = el('table', { class: 'timeline' }, el('caption', { class: 'unseen' }, 'Durations of operations'),
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Operation'), el('th', { scope: 'col' }, 'Began'),
      el('th', { scope: 'col' }, 'Took'), el('td', { class: 'axis', 'aria-hidden': 'true' }, axis(end)))), body);
  const show = (order) => {
    const sorted = order === 'slowest' ? bars.toSorted((a, b) => b.e - a.e) : bars;
    body.replaceChildren();
    growing(body, sorted, (b) => timelineRow(b, end), 300);
  };
  panel.append(el('div', { class: 'toolbar' }, choice('Order', 'began', [['began', 'by beginning'], ['slowest', 'slowest first']],
    show)), el('div', { class: 'scrolls', tabindex: '0', role: 'group', 'aria-label': 'Durations' }, table));
  show('began');
}

function timelineRow(b, end) {
  const fate = { '+': 'create', '~': 'update', '-': 'destroy', '<=': 'read' }[b.s] ?? '';
  const bar = el('span', { class: 'bar ' + fateClass(fate) + (b.x ? ' failed' : '') });
  bar.style.marginLeft = (100 * b.t) / end + '%';
  bar.style.width = Math.max(0.3, (100 * b.e) / end) + '%';
  return el('tr', {}, el('th', { scope: 'row' }, badge(fate), b.o && isChange(data.objects[b.o - 1]) ? jump(b.o - 1, b.a) : el('code', {}, b.a),
    b.x ? el('span', { class: 'outcome failed' }, 'failed') : null, b.i ? el('span', { class: 'outcome untried' }, 'did not end') : null),
  el('td', {}, time(b.t)), el('td', {}, b.i ? '' : time(b.e)), el('td', { class: 'track', 'aria-hidden': 'true' }, bar));
}

// axis has a few round times.
function axis(end) {
  const steps = [1, 2, 5].flatMap((n) => [1, 10, 100, 1000, 1e4, 1e5, 1e6].map((p) => n * p)).concat([15e3, 30e3, 60e3, 300e3, 600e3]);
  const step = steps.sort((a, b) => a - b).find((s) => end / s <= 5) ?? end;
  const out = [];
  for (let t = 0; t < 0.94 * end; t += step) {
    const mark = el('span', {}, time(t));
    mark.style.left = (100 * t) / end + '%';
    out.push(mark);
  }
  return out;
}
