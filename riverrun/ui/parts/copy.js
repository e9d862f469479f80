// Text that can be copied elsewhere.

import { html, useEffect, useState } from '../core/view.js';

const SHOWN_MS = 2000;

/** @param {{text: string, what?: string, label?: string}} props what: names the text for screen readers */
export function Copy({ text, what = 'the text', label = 'Copy' }) {
  const [outcome, setOutcome] = useState('');
  useEffect(() => {
    if (!outcome) return undefined;
    const timer = setTimeout(() => setOutcome(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => setOutcome((await copied(text)) ? 'Copied' : 'Select it by hand');
  return html`<button type="button" class="button small" aria-label=${`${label} ${what}`} onClick=${copy}>
    <span aria-live="polite">${outcome || label}</span>
  </button>`;
}

/** The clipboard is only there for pages of this machine or of https; the older way works elsewhere. @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}

/** @param {string} text */
function copiedBySelection(text) {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'hidden-words';
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
