// Where the time of a vertex goes: a profile that is taken when somebody wants one.

import { html, useEffect, useRef, useState } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { link } from '../../core/router.js';
import { ago, clock, duration } from '../../core/format.js';
import { Notice } from '../../parts/notice.js';
import { Profile } from '../../flame/profile.js';

const ENDED = -1;
const OFF = -2;
const WAITING = -3;

const KINDS = [
  { value: 'FULL', title: 'All samples' },
  { value: 'ON_CPU', title: 'On the CPU' },
  { value: 'OFF_CPU', title: 'Off the CPU: waiting' },
];

/** @typedef {{kind: string, subtask: string}} Wish */

/** @param {import('./frame.js').TabProps} props */
export function FlameTab({ id, job, names, query }) {
  const { vertex } = names;
  const glance = job.vertices.find((/** @type {any} */ each) => each.id === vertex);
  const [wish, setWish] = useState(/** @type {Wish} */ ({ kind: 'FULL', subtask: query.get('subtask') ?? '' }));
  const [asked, setAsked] = useState(/** @type {{since: number, at: number} | null} */ (null));
  const path = `/jobs/${encodeURIComponent(id)}/vertices/${encodeURIComponent(vertex)}/flamegraph?type=${wish.kind}${wish.subtask && `&subtaskindex=${wish.subtask}`}`;
  const { answer, problem, waiting } = useProfile(asked && `${path}&since=${asked.since}`);
  const last = useRef(/** @type {any} */ (undefined));
  useEffect(() => {
    if (answer?.data) last.current = answer;
  }, [answer]);
  if (!glance) return html`<${Notice} tone="wait">The job has no vertex ${vertex}. <a href=${link('/jobs', id)}>Its graph</a><//>`;
  const shown = answer?.data ? answer : last.current;
  const take = () => setAsked({ since: job.now, at: Date.now() });
  const choose = (/** @type {Partial<Wish>} */ change) => {
    setWish({ ...wish, ...change });
    if (change.subtask !== undefined) {
      setAsked(null);
      last.current = undefined;
    }
  };
  return html`
    <nav class="crumbs" aria-label="Where this is">
      <a href=${link('/jobs', id)}>Graph</a><span aria-hidden="true">/</span>
      <a href=${link('/jobs', id, 'vertices', vertex)}>${glance.name}</a><span aria-hidden="true">/</span><span aria-current="page">Flame graph</span>
    </nav>
    <h2>Where the time of ${wish.subtask ? `subtask ${wish.subtask}` : 'the vertex'} goes</h2>
    <${Choices} wish=${wish} choose=${choose} subtasks=${glance.parallelism}>
      <button type="button" class="button primary" disabled=${waiting} onClick=${take}>${shown ? 'Take another profile' : 'Take a profile'}</button>
    <//>
    ${!asked && html`<p class="muted">The threads of the task are looked at every few milliseconds, for a moment. It costs next to nothing, and nothing when nobody asks.</p>`}
    ${waiting && html`<p role="status" class="muted">Looking at the threads of ${wish.subtask ? `subtask ${wish.subtask}` : `${glance.parallelism} subtasks`} … (for ${duration(Date.now() - (asked?.at ?? 0))})</p>`}
    <${Trouble} answer=${answer} problem=${problem} status=${glance.status} />
    ${shown && html`<${Profile} data=${shown.data} note=${html`<span class="muted">taken at ${clock(shown.endTimestamp)}, ${ago(shown.endTimestamp, job.now)}</span>`} />`}`;
}

/** The answer of the interface: asked for again until it is there. @param {string | null} path */
function useProfile(path) {
  const [every, setEvery] = useState(1000);
  const { value: answer, problem } = useLive(path, every);
  const waiting = path !== null && !problem && (answer === undefined || answer.endTimestamp === WAITING);
  useEffect(() => setEvery(waiting || problem ? 1000 : Infinity), [waiting, problem]);
  return { answer, problem, waiting };
}

/** @param {{wish: Wish, choose: (change: Partial<Wish>) => void, subtasks: number, children?: any}} props */
function Choices({ wish, choose, subtasks, children }) {
  const value = (/** @type {Event} */ event) => /** @type {HTMLSelectElement} */ (event.target).value;
  return html`<div class="flame-choices">
    <label class="field"><span>Subtask</span>
      <select value=${wish.subtask} onChange=${(/** @type {Event} */ event) => choose({ subtask: value(event) })}>
        <option value="">all (${subtasks})</option>
        ${Array.from({ length: subtasks }, (_, at) => html`<option key=${at} value=${String(at)}>${at}</option>`)}
      </select></label>
    <label class="field"><span>Samples</span>
      <select value=${wish.kind} onChange=${(/** @type {Event} */ event) => choose({ kind: value(event) })}>
        ${KINDS.map((kind) => html`<option key=${kind.value} value=${kind.value}>${kind.title}</option>`)}
      </select></label>
    ${children}
  </div>`;
}

/** Why there is no profile, if so. @param {{answer: any, problem: any, status: string}} props */
function Trouble({ answer, problem, status }) {
  if (problem) return html`<${Notice} tone="bad">The profile cannot be had: ${problem.message}<//>`;
  if (answer?.endTimestamp === OFF) {
    return html`<${Notice} tone="wait"><span>Profiles are switched off here. Start the JobManager with <code>-D rest.flamegraph.enabled=true</code>,
      or set <code>rest.flamegraph.enabled: true</code> in its configuration.</span><//>`;
  }
  if (answer?.endTimestamp === ENDED) {
    return html`<${Notice} tone="wait">Nothing runs that could be looked at: the vertex is ${status.toLowerCase()}.<//>`;
  }
  return null;
}
