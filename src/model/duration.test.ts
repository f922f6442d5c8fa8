import { expect, it } from 'vitest';
import { hours, minutes, readGoDuration } from '../model/duration.ts';

it.each([
  ['90m', minutes(90)],
  ['1h30m', minutes(90)],
  // CRDs accept these too, because Kubernetes writes durations this way.
  ['1.5h', minutes(90)],
  ['1500ms', 1500],
  // Floats make 3960000.0000000005 of it.
  ['1.1h', minutes(66)],
  ['1h0.5m', hours(1) + minutes(0.5)],
  ['90', undefined],
  ['1.h', undefined],
  ['h', undefined],
])('parses the duration %s', (text, expected) => {
  expect(readGoDuration(text)).toBe(expected);
});
