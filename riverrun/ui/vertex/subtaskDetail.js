// One subtask: where it runs, when it came to its states, its attempts before, what it has counted.

import { html, useEffect, useRef, useState } from '../core/view.js';
import { get, Problem } from '../core/api.js';
import { useLive } from '../core/live.js';
import { link } from '../core/router.js';
import { duration, moment } from '../core/format.js';
import { Answer, Notice } from '../parts/notice.js';
import { Badge, inWords } from '../parts/badge.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { hostOf, isPlaced } from './subtasks.js';

const MOST_ATTEMPTS = 16;

/** @param {{id: string, vertex: string, path: string, subtask: any}} props path: of the vertex in the interface */
export function SubtaskDetail({ id, vertex, path, subtask }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'nearest' });
    place.current?.focus({ preventScroll: true });
  }, [subtask.subtask]);
  const times = useLive(`${path}/subtasktimes`, 3000);
  const tools = html`
    <a class="button" href=${link('/jobs', id, 'vertices', vertex, 'flame', { subtask: subtask.subtask })}>Flame graph of it</a>
    <a class="button" href=${link('/jobs', id, 'vertices', vertex)}>Close</a>`;
  return html`<div ref=${place} tabindex="-1" class="subtask-detail">
    <${Panel} title=${`Subtask ${subtask.subtask}`} tools=${tools}>
      <h3>States of this attempt</h3>
      <${Answer} of=${times} what="when the subtask came to its states">
        ${(/** @type {any} */ answer) => html`<${States} times=${answer.subtasks[subtask.subtask]?.timestamps ?? {}} spent=${subtask['status-duration']} />`}
      <//>
      <h3>Attempts</h3>
      <${Attempts} id=${id} path=${`${path}/subtasks/${subtask.subtask}/attempts`} current=${subtask} />
    <//>
  </div>`;
}

/** @param {{times: Record<string, number>, spent: Record<string, number>}} props */
function States({ times, spent }) {
  const rows = Object.entries(times).filter(([, at]) => at > 0).sort((a, b) => a[1] - b[1])
    .map(([state, at]) => ({ state, at }));
  /** @type {import('../parts/table.js').Column<typeof rows[number]>[]} */
  const columns = [
    { title: 'State', cell: ({ state }) => inWords(state) },
    { title: 'Since', number: true, cell: ({ at }) => moment(at) },
    { title: 'For', number: true, cell: ({ state }) => duration(spent[state]) },
  ];
  return html`<${Table} caption="When the subtask came to its states" columns=${columns} rows=${rows} rowKey=${(/** @type {typeof rows[number]} */ { state }) => state} />`;
}

/** @param {{id: string, path: string, current: any}} props */
function Attempts({ id, path, current }) {
  const { earlier, problem } = useEarlier(path, current.attempt);
  const columns = [
    { title: 'Attempt', number: true, cell: (/** @type {any} */ each) => each.attempt + 1 },
    { title: 'Status', cell: (/** @type {any} */ each) => html`<${Badge} state=${each.status} />` },
    { title: 'Host', cell: OnHost },
    { title: 'Began', number: true, cell: (/** @type {any} */ each) => moment(each['start-time']) },
    { title: 'Ended', number: true, cell: (/** @type {any} */ each) => moment(each['end-time']) },
    { title: 'For', number: true, cell: (/** @type {any} */ each) => duration(each.duration) },
  ];
  const forgotten = current.attempt - earlier.length;
  return html`
    <${Table} caption="Attempts of the subtask, the newest first" columns=${columns} rows=${[current, ...earlier]} rowKey=${(/** @type {any} */ each) => each.attempt} />
    ${problem && html`<${Notice} tone="wait">Earlier attempts are not shown: ${problem.message}<//>`}
    ${!problem && earlier.length > 0 && forgotten > 0 && html`<p class="muted">${forgotten} earlier attempts are no longer remembered.</p>`}
    ${current.attempt > 0 && html`<p class="muted">Why they ended stands under <a href=${link('/jobs', id, 'exceptions')}>Exceptions</a>.</p>`}`;
}

/** @param {any} attempt */
function OnHost(attempt) {
  const manager = attempt['taskmanager-id'];
  if (!isPlaced(manager)) return html`<span class="muted">not placed</span>`;
  return html`<a href=${link('/taskmanagers', manager)} title=${attempt.endpoint}>${hostOf(attempt.endpoint)}</a>`;
}

/**
 * The attempts before the current one, the newest first, as far as they are remembered: asked once each.
 * @param {string} path @param {number} current
 */
function useEarlier(path, current) {
  const [found, setFound] = useState(/** @type {{earlier: any[], problem?: Problem}} */ ({ earlier: [] }));
  useEffect(() => {
    const asking = new AbortController();
    setFound({ earlier: [] });
    (async () => {
      /** @type {any[]} */
      const earlier = [];
      try {
        for (let number = current - 1; number >= Math.max(0, current - MOST_ATTEMPTS); number -= 1) {
          earlier.push(await get(`${path}/${number}`, { signal: asking.signal }));
          setFound({ earlier: [...earlier] });
        }
      } catch (error) {
        const forgotten = error instanceof Problem && error.kind === 'gone';
        if (!asking.signal.aborted && !forgotten) {
          setFound({ earlier, problem: error instanceof Problem ? error : new Problem('broken', String(error)) });
        }
      }
    })();
    return () => asking.abort();
  }, [path, current]);
  return found;
}
