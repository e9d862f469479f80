// A log file itself: a link, which the browser reads piece by piece, unless a token forbids it.

import { html } from '../core/view.js';
import { token } from '../core/api.js';
import { Download } from '../parts/download.js';

/** The server gives no more of a file at once, its end first. */
const MOST_BYTES = 64 << 20;
const PATIENCE_MS = 120_000;

/** @param {{path: string, file: string, size: number}} props */
export function LogDownload({ path, file, size }) {
  const label = size > MOST_BYTES ? 'Download the last 64 MiB' : 'Download';
  if (!token.get()) return html`<a class="button" href=${path} download=${file}>${label}</a>`;
  return html`<${Download} path=${path} name=${file} label=${label} patience=${PATIENCE_MS} />`;
}
