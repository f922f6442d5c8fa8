// What the lab does when it is asked for virtual machines.
import { runLayerLint } from '../../../src/cli/layer/lint.ts';
import type { LabOptions } from '../options.ts';
import { readScenario } from '../scenario.ts';
import { tellOf } from '../tell.ts';
import { playInGuest } from '../vm.ts';
import { playClusterInGuests } from './cluster.ts';
import { type OsOrder, readOsOrder, refuseOrderFor } from './os-order.ts';
import { guestPlan } from './plan.ts';

/**
 * Plays a scenario with guests of QEMU in the place of simulated hosts, and gives the exit code.
 * @throws RangeError for a scenario, or an order, that cannot be played so
 */
export async function playGuests(options: LabOptions, firmware: 'bios' | 'uefi'): Promise<number> {
  const { scenario: name, osConfig } = options;
  const plan = guestPlan(name, await readScenario(name));
  const { kind, scenario } = plan;
  if (osConfig !== undefined) {
    refuseOrderFor(plan, name);
    // Its findings are told on standard output.
    if ((await runLayerLint([osConfig])) !== 0) return 2;
  }
  const order = osConfig === undefined ? undefined : await readOsOrder(osConfig);
  const hosts = scenario.hosts.map((host) => `${host.name} (${host.role})`).join(', ');
  process.stdout.write(
    [
      `${scenario.title} in virtual machines: ${hosts}.`,
      `Each starts from a live system by ${firmware}, is installed by the real agent with the real`,
      'coreos-installer, and starts from its own disk.',
      ...(order === undefined ? [] : [orderWords(order)]),
      '\n',
    ].join('\n'),
  );
  return tellOf(options, (watched) =>
    kind === 'cluster'
      ? playClusterInGuests({ name, scenario, firmware, ...watched })
      : playInGuest({ firmware, order, ...watched }),
  );
}

const orderWords = ({ file, pushSpec }: OsOrder): string =>
  `The image of ${file} is built meanwhile; it goes to a registry of the lab, and not to ${pushSpec}.`;
