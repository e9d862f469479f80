// Time lines: what plots draw and say, which part of a run is asked for, and why values are missing.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  BYTE_STEPS, extremes, isolated, shown, summary, timeLabel, uprightRange,
} from '../../../riverrun/ui/parts/plotNumbers.js';
import { exactness, JOB_PLOTS, VERTEX_PLOTS } from '../../../riverrun/ui/timelines/plots.js';
import { pathOf, RANGES, rangeOf, spanOf } from '../../../riverrun/ui/timelines/ranges.js';
import { rate } from '../../../riverrun/ui/core/format.js';

describe('numbers of a plot', () => {
  it('have a least, a most and a latest one, without those that are missing', () => {
    assert.deepEqual(extremes([null, 3, 1, null, 2, null]), { least: 1, most: 3, latest: 2 });
    assert.equal(extremes([null, null]), null);
    assert.equal(extremes([]), null);
  });

  it('are told in words', () => {
    assert.equal(summary('in', [5, 1, 2], rate), 'in: latest 2/s, least 1/s, most 5/s');
    assert.equal(summary('in', [null], rate), 'in: no values');
    assert.equal(shown(null, rate), '–');
    assert.equal(shown(undefined, rate), '–');
    assert.equal(shown(0, rate), '0/s');
  });

  it('are shown as dots where a line would not show them', () => {
    assert.deepEqual(isolated([1, null, 2, 3, null, 4]), [0, 5]);
    assert.deepEqual(isolated([null, null]), []);
  });

  it('stand on an axis with zero and some height', () => {
    assert.deepEqual(uprightRange(null, null), [0, 1]);
    assert.deepEqual(uprightRange(0, 0), [0, 1]);
    assert.deepEqual(uprightRange(0.2, 0.4, 1), [0, 1]);
    const [low, high] = uprightRange(50, 100);
    assert.equal(low, 0);
    assert.ok(high > 100 && high < 120);
    const [below, above] = uprightRange(-100, -50);
    assert.ok(below < -100);
    assert.equal(Math.abs(above), 0);
  });

  it('of time are as exact as their labels are apart', () => {
    const ms = new Date(2026, 2, 7, 9, 5, 3).getTime();
    assert.equal(timeLabel(ms, 1000), '09:05:03');
    assert.equal(timeLabel(ms, 60_000), '09:05');
    assert.equal(timeLabel(ms, 86_400_000), '03-07');
  });

  it('of bytes are told in powers of two', () => {
    assert.ok(BYTE_STEPS.every((step) => Number.isInteger(Math.log2(step))));
  });
});

describe('ranges', () => {
  const answer = { now: 1_000_000, begin: 100_000, end: -1 };

  it('are named in the address', () => {
    assert.deepEqual(RANGES.map(({ name }) => rangeOf(name).name), ['1m', '10m', '1h', 'all']);
    assert.equal(rangeOf(null).name, '10m');
    assert.equal(rangeOf('century').name, '10m');
  });

  it('are asked for in seconds, the whole run without', () => {
    assert.equal(pathOf('j', rangeOf('1m'), undefined), '/jobs/j/timelines?points=300&window=60');
    assert.equal(pathOf('j', rangeOf('all'), 'v'), '/jobs/j/timelines?points=300&vertex=v');
  });

  it('are shown in full, until now or until the end', () => {
    assert.deepEqual(spanOf(answer, rangeOf('1m')), [940_000, 1_000_000]);
    assert.deepEqual(spanOf({ ...answer, end: 500_000 }, rangeOf('1m')), [440_000, 500_000]);
    assert.deepEqual(spanOf(answer, rangeOf('all')), [100_000, 1_000_000]);
    assert.deepEqual(spanOf({ ...answer, now: 100_000 }, rangeOf('all')), [99_000, 100_000]);
  });
});

describe('plots', () => {
  const why = (title, config, running = true) => JOB_PLOTS.find((plan) => plan.title === title).why({ config, running });

  it('say why there is no latency', () => {
    for (const config of [{}, { 'metrics.latency.interval': '0 ms' }, { 'metrics.latency.interval': '0' }]) {
      assert.match(why('Latency', config), /markers are off; metrics\.latency\.interval/);
    }
    assert.match(why('Latency', { 'metrics.latency.interval': '100 ms' }), /No latency marker has arrived/);
    assert.match(why('Latency', {}, false), /No task told/);
  });

  it('say why there is no checkpoint', () => {
    assert.match(why('State size', {}), /execution\.checkpointing\.interval is not set/);
    assert.match(why('Checkpoint duration', { 'execution.checkpointing.interval': '1 s' }), /had completed/);
  });

  it('write a lag that lies ahead with a sign', () => {
    const { format } = VERTEX_PLOTS.find((plan) => plan.title === 'Watermark lag');
    assert.equal(format(1500), '1.5 s');
    assert.equal(format(-1500), '-1.5 s');
  });

  it('say how exact they are', () => {
    assert.equal(exactness(1000), 'One value for each second.');
    assert.match(exactness(600_000), /every 10 m: the mean .* the largest/);
  });
});
