// One cause of failures: what was raised, where and at which record, how often, and what came after.

import { html, useEffect, useMemo, useRef, useState } from '../core/view.js';
import { clock, moment } from '../core/format.js';
import { link } from '../core/router.js';
import { Copy } from '../parts/copy.js';
import { Facts } from '../parts/figures.js';
import { Notice } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { aftermath, messageOf } from './grouping.js';
import { Traceback } from './tracebackView.js';

/**
 * @typedef {{state: string, restarts: number | undefined, uptime: number | undefined, newest: number}} Now newest: when anything failed last
 * @param {{id: string, job: any, group: import('./grouping.js').Group, opened: boolean, linked: boolean, now: Now}} props
 * linked: the address names this group
 */
export function FailureGroup({ id, job, group, opened, linked, now }) {
  const [open, setOpen] = useState(opened || linked);
  const node = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!linked) return;
    setOpen(true);
    node.current?.scrollIntoView({ block: 'start' });
  }, [linked]);
  const [newest] = group.failures;
  const many = group.failures.length;
  const when = many === 1 ? `at ${moment(group.last)}` : `${many} times, first ${moment(group.first)}, last ${moment(group.last)}`;
  return html`<section class="panel failure" id=${`cause-${group.key}`} ref=${node}>
    <details open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>${headline(newest)}</h2>
        <p class="muted">${group.operator ? html`in <strong>${group.operator}</strong>, ` : ''}${when}; ${aftermath({ ...now, attempt: attemptOf(newest), newest: newest.timestamp === now.newest })}</p>
      </summary>
      ${open && html`<div class="body"><${Failure} id=${id} job=${job} failure=${newest} group=${group} />
        ${many > 1 && html`<h3>Every time</h3><${Times} id=${id} job=${job} failures=${group.failures} />`}
      </div>`}
    </details>
  </section>`;
}

/** @param {{id: string, job: any, failure: any, group?: import('./grouping.js').Group}} props */
function Failure({ id, job, failure, group }) {
  const { operator, record, hint } = failure.failureLabels ?? {};
  return html`
    <div class="failure-tools">
      ${group && html`<a href=${link('/jobs', id, 'exceptions', { cause: group.key })}>Link to this cause</a>`}
      <${Copy} text=${asText(failure)} what="the failure" />
    </div>
    <${Traceback} text=${failure.stacktrace} said=${headline(failure)} />
    ${hint && html`<${Notice} tone="wait"><strong>Hint</strong> <span>${hint}</span><//>`}
    <${Facts} items=${/** @type {[string, any][]} */ ([
      ['Operator', operator ?? html`<span class="muted">not known: it was not raised in an operator's function</span>`],
      ['Record', record ? html`<code class="record">${record}</code>` : html`<span class="muted">not known: none was in hand</span>`],
      ['Task', html`<${Task} id=${id} job=${job} failure=${failure} />`],
      ['Task manager', html`<${Place} failure=${failure} />`],
      ['When', moment(failure.timestamp)],
      ['Attempt of the job', attemptOf(failure) === undefined ? html`<span class="muted">not known</span>` : `${Number(attemptOf(failure)) + 1}`],
    ])} />
    ${failure.concurrentExceptions?.length > 0 && html`<h3>Failed at the same time</h3>
      ${failure.concurrentExceptions.map((/** @type {any} */ other, /** @type {number} */ at) => html`<details key=${at} class="concurrent">
        <summary>${headline(other)} <span class="muted">${other.taskName}</span></summary>
        <${Failure} id=${id} job=${job} failure=${other} />
      </details>`)}`}`;
}

/** @param {{id: string, job: any, failure: any}} props */
function Task({ id, job, failure }) {
  if (!failure.taskName) return html`<span class="muted">none: the job as a whole</span>`;
  const name = failure.taskName.replace(/ \(\d+\)$/, '');
  const subtask = failure.failureLabels?.subtask;
  const vertex = job.vertices.find((/** @type {any} */ each) => each.name === name);
  const words = subtask === undefined ? name : `${name}, subtask ${subtask}`;
  return vertex ? html`<a href=${link('/jobs', id, 'vertices', vertex.id)}>${words}</a>` : words;
}

/** @param {{failure: any}} props */
function Place({ failure }) {
  const { taskManagerId: manager, endpoint } = failure;
  if (!manager && !endpoint) return html`<span class="muted">not known</span>`;
  return html`${endpoint || 'a host that is not known'}${manager && html`, <a class="mono" href=${link('/taskmanagers', manager)}>${manager}</a>`}`;
}

/** @param {{id: string, job: any, failures: any[]}} props */
function Times({ id, job, failures }) {
  const columns = useMemo(() => [
    { title: 'When', by: (/** @type {any} */ each) => each.timestamp, cell: (/** @type {any} */ each) => html`<span class="nowrap" title=${moment(each.timestamp)}>${clock(each.timestamp)}</span>` },
    { title: 'Message', cell: messageOf },
    { title: 'Record', cell: (/** @type {any} */ each) => html`<code class="record">${each.failureLabels?.record ?? '–'}</code>` },
    { title: 'Task', cell: (/** @type {any} */ each) => html`<${Task} id=${id} job=${job} failure=${each} />` },
    { title: 'Task manager', cell: (/** @type {any} */ each) => html`<${Place} failure=${each} />` },
  ], [id, job.vertices]);
  return html`<${Table} caption="Failures of this cause" columns=${columns} rows=${failures} rowKey=${(/** @type {any} */ each) => `${each.timestamp} ${each.taskName}`} />`;
}

/** @param {any} failure */
function headline(failure) {
  return messageOf(failure) ? `${failure.exceptionName}: ${messageOf(failure).split('\n')[0]}` : failure.exceptionName;
}

/** @param {any} failure */
function attemptOf(failure) {
  const attempt = failure.failureLabels?.attempt;
  return attempt === undefined ? undefined : Number(attempt);
}

/** All that is known, for a message to a colleague. @param {any} failure */
function asText(failure) {
  const { operator, record, hint } = failure.failureLabels ?? {};
  return [
    headline(failure),
    failure.taskName && `task: ${failure.taskName}`,
    operator && `operator: ${operator}`,
    record && `record: ${record}`,
    (failure.endpoint || failure.taskManagerId) && `where: ${[failure.endpoint, failure.taskManagerId].filter(Boolean).join(', task manager ')}`,
    `when: ${moment(failure.timestamp)}`,
    hint && `hint: ${hint}`,
    '',
    failure.stacktrace,
  ].filter((line) => line !== undefined && line !== false && line !== null).join('\n');
}
