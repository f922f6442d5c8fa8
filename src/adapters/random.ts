import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { Random } from '../ports/random.ts';
import { systemClock } from './clock.ts';

/** Randomness from the system's generator, so that many hosts that start together spread well. */
export const systemRandom: Random = {
  uuid: () => randomUUID(),
  between: (low, high) => low + (randomInt(2 ** 32) / 2 ** 32) * (high - low),
  bytes: (count) => randomBytes(count),
};

/** Time and randomness of this machine, for adapters. */
export const systemPorts = { clock: systemClock, random: systemRandom };
