// The time, for what ticks.

import { useEffect, useState } from '../core/view.js';

/** The time now; the component is drawn again when it changes. @param {number} [every] milliseconds */
export function useNow(every = 1000) {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || set(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
