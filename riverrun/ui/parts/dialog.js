// Asks before something is done, shows that it is under way, and why it failed if it did.

import { html, classes, useEffect, useRef, useState } from '../core/view.js';
import { refreshAll } from '../core/live.js';
import { Notice } from './notice.js';

/**
 * A button that opens a dialog; the action is done when the dialog is confirmed.
 * @param {{
 *   label: any, title: string, confirm: string, danger?: boolean, disabled?: boolean, why?: string,
 *   act: (form: FormData) => Promise<any>, done?: (outcome: any) => void, failed?: (error: unknown) => void,
 *   busy?: any, children?: any,
 * }} props
 * confirm: the word on the button that does it; why: the reason when it is disabled;
 * busy: what is shown while it is done; children: explanation and fields of the form;
 * failed: told when it fails after the reader closed the dialog, which shows the reason otherwise
 */
export function Action({ label, title, confirm, danger, disabled, why, act, done, failed, busy, children }) {
  const [open, setOpen] = useState(false);
  return html`
    <button type="button" class=${classes('button', danger && 'danger')} disabled=${disabled} title=${disabled ? why : undefined} onClick=${() => setOpen(true)}>${label}</button>
    ${open && html`<${Ask} ...${{ title, confirm, danger, act, done, failed, busy, close: () => setOpen(false) }}>${children}<//>`}`;
}

/**
 * @param {{
 *   title: string, confirm: string, danger?: boolean, act: (form: FormData) => Promise<any>,
 *   done?: (outcome: any) => void, failed?: (error: unknown) => void, busy?: any, close: () => void, children?: any,
 * }} props
 */
export function Ask({ title, confirm, danger, act, done, failed, busy = 'Under way …', close, children }) {
  const node = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [working, setWorking] = useState(false);
  const [failure, setFailure] = useState('');
  const closed = useRef(false);
  useEffect(() => {
    node.current?.showModal();
    return () => {
      closed.current = true;
    };
  }, []);
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    setWorking(true);
    setFailure('');
    try {
      const outcome = await act(new FormData(/** @type {HTMLFormElement} */ (event.target)));
      refreshAll();
      if (!closed.current) close();
      done?.(outcome);
    } catch (error) {
      if (closed.current) failed?.(error);
      else setFailure(error instanceof Error ? error.message : String(error));
      setWorking(false);
    }
  };
  return html`<dialog class="ask" ref=${node} onClose=${close} aria-label=${title}>
    <form onSubmit=${submit}>
      <h2>${title}</h2>
      ${children}
      ${failure && html`<${Notice} tone="bad"><pre>${failure}</pre><//>`}
      ${working && html`<p role="status" class="muted">${busy}</p>`}
      <div class="buttons">
        <button type="button" class="button" onClick=${close}>${working ? 'Close' : 'Back'}</button>
        <button type="submit" class=${classes('button primary', danger && 'danger')} disabled=${working}>${confirm}</button>
      </div>
    </form>
  </dialog>`;
}
