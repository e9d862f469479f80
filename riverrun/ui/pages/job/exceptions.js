// What went wrong.

import { html } from '../../core/view.js';

export function ExceptionsTab() {
  return html`<p class="muted">What went wrong.</p>`;
}
