// What the lab does when it is asked for virtual machines.
import type { LabOptions } from '../../../mocks/lab/options.ts';
import { readScenario } from '../../../mocks/lab/scenario.ts';
import { headingOf } from '../../../mocks/lab/page.ts';
import { showRun } from '../../../mocks/lab/show.ts';
import { runMasterInGuest } from './one-master.ts';
import { runClusterInGuests } from './cluster.ts';
import { guestPlan, type OsBuildRequest, readBuildRequest, refuseBuildFor } from './plan.ts';
import { runLint } from '../../../src/cli/lint.ts';
import { bundlePath } from '../../../scripts/bundle.ts';
import { agentBase } from '../../../scripts/parts/agent-base.ts';
import { ensureParts } from '../../../scripts/parts/ensure.ts';
import { osDisk } from '../../../scripts/parts/os-disk.ts';
import { imageRegistry, liveRoot, osImage, qemu } from '../../../scripts/parts/scripted.ts';
import { clusterParts, kubeParts } from '../../../scripts/rig.ts';

const guestParts = [osDisk, qemu, liveRoot, agentBase()];

/**
 * Runs a scenario with guests of QEMU in the place of simulated hosts, and gives the exit code.
 * @throws RangeError for a scenario, or a request, that cannot be run so
 */
export async function runInVirtualMachines(
  options: LabOptions,
  firmware: 'bios' | 'uefi',
): Promise<number> {
  const { scenario: name, osConfig } = options;
  const plan = guestPlan(name, await readScenario(name));
  const { kind, scenario } = plan;
  const heading = headingOf(scenario);
  if (osConfig !== undefined) {
    refuseBuildFor(plan, name);
    // Its findings are told on standard output.
    if ((await runLint({ values: [osConfig], format: 'text' })) !== 0) return 2;
  }
  const request = osConfig === undefined ? undefined : await readBuildRequest(osConfig);
  const hosts = scenario.hosts.map((host) => `${host.name} (${host.role})`).join(', ');
  process.stdout.write(
    [
      `${scenario.title} in virtual machines: ${hosts}.`,
      `Each starts from a live system by ${firmware}, is installed by the real agent with the real`,
      'coreos-installer, and starts from its own disk.',
      ...(request === undefined ? [] : [buildWords(request)]),
      '\n',
    ].join('\n'),
  );
  if (kind === 'cluster') {
    await ensureParts([...clusterParts, ...guestParts]);
    const ground = { name, scenario, firmware, kube: await kubeParts(), bundle: bundlePath };
    return showRun(options, heading, (watched) => runClusterInGuests({ ...ground, ...watched }));
  }
  await ensureParts([...guestParts, ...(request === undefined ? [] : [osImage, imageRegistry])]);
  return showRun(options, heading, (watched) =>
    runMasterInGuest({ firmware, request, ...watched }),
  );
}

const buildWords = ({ file, pushSpec }: OsBuildRequest): string =>
  `The image of ${file} is built meanwhile, and pushed to a registry of the lab\ninstead of ${pushSpec}.`;
