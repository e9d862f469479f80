// The executors.

import { html } from '../core/view.js';

export function TaskManagers() {
  return html`<p class="muted">The executors.</p>`;
}
