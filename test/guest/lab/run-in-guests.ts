// The lab with a virtual machine.
import type { LabOptions } from '../../../mocks/lab/options.ts';
import { readScenario } from '../../../mocks/lab/scenario.ts';
import { headingOf } from '../../../mocks/lab/page.ts';
import { showRun } from '../../../mocks/lab/show.ts';
import { runLint } from '../../../src/cli/lint.ts';
import { agentBase } from '../../../scripts/parts/agent-base.ts';
import { ensureParts } from '../../../scripts/parts/ensure.ts';
import { osDisk } from '../../../scripts/parts/os-disk.ts';
import { imageRegistry, liveRoot, osImage, qemu } from '../../../scripts/parts/scripted.ts';
import { runMasterInGuest } from './one-master.ts';
import { readBuildRequest } from './os-build.ts';

/**
 * Installs one master in a guest of QEMU in the place of a simulated host, and gives the exit code.
 * @throws RangeError for a MachineOSConfig of another pool
 */
export async function runInVirtualMachine(
  options: LabOptions,
  firmware: 'bios' | 'uefi',
): Promise<number> {
  const { scenario: name, osConfig } = options;
  const scenario = await readScenario(name);
  // Its findings are printed to standard output.
  if (osConfig !== undefined && (await runLint({ values: [osConfig], format: 'text' })) !== 0)
    return 2;
  const request = osConfig === undefined ? undefined : await readBuildRequest(osConfig);
  process.stdout.write(`${scenario.title} in a virtual machine.
It starts from a live system by ${firmware}, is installed by the real agent with the real
coreos-installer, and starts from its own disk.
${
  request === undefined
    ? ''
    : `The image of ${request.file} is built meanwhile, and pushed to a registry of the lab
instead of ${request.pushSpec}.
`
}
`);
  await ensureParts([
    ...[osDisk, qemu, liveRoot, agentBase()],
    ...(request === undefined ? [] : [osImage, imageRegistry]),
  ]);
  return showRun(options, headingOf(scenario), (watched) =>
    runMasterInGuest({ firmware, request, ...watched }),
  );
}
