import type { IgnitionSource } from './source.ts';

/** The inventory service, which knows this host and its role. */
export const fromService: IgnitionSource = ({ inventory }, _config, { role, signal }) =>
  inventory.hostIgnition(role, signal);
