// Durations and sizes over the history, as small bars; each leads to its checkpoint. By keys one gets there from the table.

import { html, classes } from '../core/view.js';
import { bytes, clock, duration } from '../core/format.js';
import { link } from '../core/router.js';
import { heights } from './history.js';
import { typeWords } from './words.js';

const HEIGHT = 64;
const STEP = 12;
const LEAST_BARS = 20;

/** @param {{job: string, history: any[]}} props */
export function Plots({ job, history }) {
  const ended = history.filter(({ status }) => status !== 'IN_PROGRESS').reverse();
  if (ended.length < 2) return null;
  const sizes = (/** @type {any} */ each) => `${bytes(each.state_size)} in all, ${bytes(each.checkpointed_size)} written`;
  return html`<div class="checkpoint-plots">
    <${Bars} ...${{ job, title: 'Duration', checkpoints: ended, value: (/** @type {any} */ each) => each.end_to_end_duration, words: (/** @type {any} */ each) => duration(each.end_to_end_duration), top: duration }} />
    <${Bars} ...${{ job, title: 'Size of the state', checkpoints: ended, value: (/** @type {any} */ each) => each.state_size, inner: (/** @type {any} */ each) => each.checkpointed_size, words: sizes, top: bytes, note: ended.some((each) => each.checkpointed_size < each.state_size) ? 'the strong part was written by it' : '' }} />
  </div>`;
}

/**
 * @param {{
 *   job: string, title: string, checkpoints: any[], value: (each: any) => number, inner?: (each: any) => number,
 *   words: (each: any) => string, top: (most: number) => string, note?: string,
 * }} props
 * inner: a part of the value, drawn darker; top: the words for the largest value
 */
function Bars({ job, title, checkpoints, value, inner, words, top, note }) {
  const values = checkpoints.map((each) => (each.status === 'COMPLETED' ? value(each) : undefined));
  const shares = heights(values);
  const most = Math.max(...values.map((each) => each ?? 0));
  const width = Math.max(checkpoints.length, LEAST_BARS) * STEP;
  return html`<figure class="checkpoint-bars">
    <figcaption>${title} <span class="muted">up to ${top(most)}${note && `; ${note}`}</span></figcaption>
    <svg viewBox=${`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="group" aria-label=${`${title} of the last ${checkpoints.length} checkpoints`}>
      ${checkpoints.map((each, at) => {
        const tall = each.status === 'COMPLETED' ? Math.max(1, shares[at] * (HEIGHT - 2)) : HEIGHT - 2;
        const part = inner && value(each) > 0 ? Math.min(1, inner(each) / value(each)) : 1;
        const said = each.status === 'COMPLETED' ? words(each) : `failed: ${each.failure_message ?? ''}`;
        const label = `${typeWords(each)} ${each.id} at ${clock(each.trigger_timestamp)}: ${said}`;
        return html`<a key=${each.id} href=${link('/jobs', job, 'checkpoints', String(each.id))} tabindex="-1" aria-label=${label}>
          <title>${label}</title>
          <rect class="reach" x=${at * STEP} y="0" width=${STEP} height=${HEIGHT} />
          <rect class=${classes('whole', each.status === 'FAILED' && 'failed', each.is_savepoint && 'savepoint')} x=${at * STEP + 1} y=${HEIGHT - tall} width=${STEP - 3} height=${tall} />
          ${each.status === 'COMPLETED' && html`<rect class=${classes('written', each.is_savepoint && 'savepoint')} x=${at * STEP + 1} y=${HEIGHT - tall * part} width=${STEP - 3} height=${tall * part} />`}
        </a>`;
      })}
    </svg>
  </figure>`;
}
