// A log reader that belongs to a component and looks for new lines while they are wanted.

import { useEffect, useMemo, useState } from '../core/view.js';
import { LogReader } from './reader.js';
import { partsOf } from './source.js';

const PAUSE_MS = 1000;

/**
 * @param {string} path
 * @param {boolean} following
 * @param {() => boolean} isAtEnd whether the reader looks at the last lines
 */
export function useReader(path, following, isAtEnd) {
  const [, redraw] = useState(0);
  const reader = useMemo(() => new LogReader(partsOf(path), () => redraw((n) => n + 1)), [path]);
  useEffect(() => {
    void reader.open();
    return () => {
      reader.tell = () => {};
    };
  }, [reader]);
  useEffect(() => {
    if (!following) return undefined;
    let stopped = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const again = async () => {
      if (!document.hidden) await reader.follow(isAtEnd);
      if (!stopped) timer = setTimeout(again, PAUSE_MS);
    };
    timer = setTimeout(again, PAUSE_MS);
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [reader, following]);
  return reader;
}
