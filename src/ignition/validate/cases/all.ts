import type { ValidationCase } from './case.ts';
import { devices } from './devices.ts';
import { nodes } from './nodes.ts';
import { reading } from './reading.ts';
import { resources } from './resources.ts';
import { units } from './units.ts';

/** Every rule of validation at least once. */
export const validationCases: readonly ValidationCase[] = [
  ...reading,
  ...nodes,
  ...resources,
  ...devices,
  ...units,
];
