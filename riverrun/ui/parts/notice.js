// What went wrong or is missing, in words; and the usual frame for an answer that may not be there yet.

import { html, classes } from '../core/view.js';
import { ago } from '../core/format.js';

/** @param {{tone?: 'good' | 'wait' | 'bad', children?: any}} props */
export function Notice({ tone, children }) {
  return html`<div class=${classes('notice', tone)} role=${tone === 'bad' ? 'alert' : 'status'}>${children}</div>`;
}

/**
 * Shows the children once there is an answer; before, that it is awaited; and why there is none, if so.
 * An answer that was there stays when later requests fail, marked with its age.
 * @param {{of: import('../core/live.js').Live<any>, what: string, gone?: any, children: (value: any) => any}} props
 * what: 'the checkpoints of this job'; gone: what to say when there is no such thing
 */
export function Answer({ of: live, what, gone, children }) {
  const { value, problem, at } = live;
  if (problem?.kind === 'gone') {
    return html`<${Notice} tone="wait">${gone ?? html`There is no longer anything to show here: ${problem.message}`}<//>`;
  }
  if (value === undefined) {
    if (!problem) return html`<p class="muted" role="status">Asking for ${what} …</p>`;
    return html`<${Notice} tone="bad">Cannot show ${what}: ${problem.message}. It is asked for again by itself.<//>`;
  }
  return html`
    ${problem && html`<${Notice} tone="wait">Shown as of ${ago(at)}: ${problem.message}.<//>`}
    ${children(value)}`;
}
