import { minutes, seconds } from '../../model/duration.ts';
import { step } from '../step.ts';
import { explainSource } from './choose-source.ts';
import { HostIgnition } from './facts.ts';
import { hostIgnitionPath, hostRole, keepHostIgnition, tellWarnings } from './keep-host.ts';

/** Fetches the Ignition of this host. */
export const fetchHost = step({
  id: 'ignition/fetch-host',
  title: 'Fetch the Ignition of this host',
  stage: 'Installing',
  stageInfo: hostRole,
  uses: ['host', 'inventory', 'objects', 'web'],
  gives: HostIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: minutes(45),
  explain: (config) => `${explainSource(config)}, to ${hostIgnitionPath(config)}`,
  run: async (scope) => {
    const { kept, warnings } = await keepHostIgnition(scope);
    tellWarnings(scope, warnings);
    return kept;
  },
});
