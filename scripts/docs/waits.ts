import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { mainLine, type Role } from '../../src/engine/role.ts';
import type { AnyStep, World } from '../../src/engine/step.ts';
import { renderDuration, unlimited } from '../../src/model/duration.ts';
import { stageLimits } from '../../src/model/stage.ts';
import { allRoles } from '../../src/roles/choose.ts';
import { controller, controllerWithoutService } from '../../src/roles/controller.ts';
import { requireCodes } from './errors.ts';
import { codeCell, pageOf, table } from './markdown.ts';

const root = resolve(import.meta.dirname, '../..');

/** Who ends a wait that does not come true. */
const ends = {
  service: 'the service: the text changes with progress only',
  others: 'the service, by the stages of the hosts that are waited for: the text is renewed',
  itself: 'the wait itself, within its limit',
  run: 'the run: nothing is shown, and nobody waits for it',
} as const;

interface Wait {
  readonly endedBy: keyof typeof ends;
  /** Codes of what can never come true and ends the wait at once. */
  readonly failsOn?: readonly string[];
}

const bootkube = ['cluster.bootkube-failed'];

/** Every step that waits, by its id, in its kind; in the order of the page. */
const waits: Readonly<Record<string, Wait>> = {
  'bootstrap/fetch-ignition': { endedBy: 'others' },
  'bootstrap/overlay-node-image': { endedBy: 'service', failsOn: ['bootstrap.overlay-failed'] },
  'cluster/follow-hosts': { endedBy: 'run' },
  'cluster/leave-record': { endedBy: 'itself' },
  'cluster/patch-etcd': { endedBy: 'service', failsOn: bootkube },
  'cluster/report-arbiters': { endedBy: 'run' },
  'cluster/report-masters': { endedBy: 'run' },
  'cluster/wait-for-arbiter': { endedBy: 'others', failsOn: bootkube },
  'cluster/wait-for-bootkube': { endedBy: 'service', failsOn: bootkube },
  'cluster/wait-for-controller': { endedBy: 'service' },
  'cluster/wait-for-etcd': { endedBy: 'service', failsOn: ['cluster.etcd-bootstrap-failed'] },
  'cluster/wait-for-etcd-handover': { endedBy: 'itself' },
  'cluster/wait-for-machine-configs': { endedBy: 'service' },
  'cluster/wait-for-masters': { endedBy: 'others', failsOn: bootkube },
  'cluster/wait-for-workers': { endedBy: 'others' },
  'control-plane/wait-for-masters': { endedBy: 'others' },
  'controller/announce-ready': { endedBy: 'itself' },
  'controller/apply-agent-manifests': { endedBy: 'itself' },
  'controller/complete-installation': { endedBy: 'service' },
  'controller/read-new-cluster': { endedBy: 'itself' },
  'controller/reconcile': { endedBy: 'run' },
  'controller/remove-record': { endedBy: 'itself' },
  'controller/upload-final-logs': { endedBy: 'itself' },
  'controller/upload-logs-regularly': { endedBy: 'run' },
  'controller/wait-for-bootstrap-host': { endedBy: 'itself' },
  'controller/wait-for-counts': { endedBy: 'itself' },
  'controller/wait-for-end': { endedBy: 'service' },
  'host/confirm-installation': { endedBy: 'itself', failsOn: ['install.cancelled'] },
  'ignition/fetch-host': { endedBy: 'others' },
  'image/overwrite-os': { endedBy: 'itself' },
  'layering/check-served-config': { endedBy: 'itself', failsOn: ['layering.other-image-served'] },
  'layering/find-worker-image': { endedBy: 'itself' },
  'layering/hand-over': { endedBy: 'service' },
  'layering/submit-os-configs': { endedBy: 'service' },
  'layering/start-registry': { endedBy: 'itself' },
  'layering/wait-for-masters': { endedBy: 'service' },
  'layering/wait-for-rendered': {
    endedBy: 'service',
    failsOn: ['layering.not-rendered', ...bootkube],
  },
  'logs/keep-unreported': { endedBy: 'itself' },
};

const stepsOf = <W extends World>(role: Role<W>): readonly AnyStep<W>[] => [
  ...mainLine(role).map(({ step }) => step),
  ...(role.follow ?? []),
  ...(role.always ?? []),
];

/** Every step that says what it waits for, by its id. */
const waitingSteps = (): ReadonlyMap<string, Pick<AnyStep<World>, 'waitsFor' | 'limit'>> =>
  new Map(
    [...allRoles.flatMap(stepsOf), ...stepsOf(controller), ...stepsOf(controllerWithoutService)]
      .filter(({ waitsFor }) => waitsFor !== undefined)
      .map((step) => [step.id, step]),
  );

/** The sentences of waits inside steps that do not say what they wait for, as they stand in the sources. */
function shortWaits(): readonly (readonly string[])[] {
  return globSync('src/steps/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] })
    .sort()
    .flatMap((file) => {
      const text = readFileSync(resolve(root, file), 'utf8');
      if (/^ *waitsFor:/m.test(text)) return [];
      const sentences = text.matchAll(/\buntil\(\s*(?:'([^']*)'|`([^`]*)`)/g);
      return [...sentences].map(([, plain, template = '']) => [
        (plain ?? template).replaceAll(/\$\{[^}]*\}/g, '…'),
        codeCell(file),
      ]);
    });
}

/**
 * The page about every wait.
 * @throws RangeError for a wait without a kind, a kind without a wait, or a code that no failure has
 */
export async function waitsPage(): Promise<string> {
  const file = 'scripts/docs/waits.ts';
  const steps = waitingSteps();
  const ids = [...steps.keys(), ...Object.keys(waits)];
  const differs = ids.find((id) => !(steps.has(id) && id in waits));
  if (differs !== undefined)
    throw new RangeError(
      steps.has(differs)
        ? `${differs} waits: put it into its kind in ${file}`
        : `${file}: no step ${differs} waits`,
    );
  await requireCodes(
    Object.values(waits).flatMap(({ failsOn = [] }) => failsOn),
    file,
  );
  const rows = Object.entries(waits).map(([id, { endedBy, failsOn = [] }]) => {
    const { waitsFor = '', limit = 0 } = steps.get(id) ?? {};
    const hopeless = failsOn.map(codeCell).join(', ');
    return [codeCell(id), waitsFor, ends[endedBy], hopeless, limitText(limit)];
  });
  const stages = Object.entries(stageLimits)
    .filter(([, limit]) => Number.isFinite(limit))
    .map(([stage, limit]) => [stage, renderDuration(limit), renderDuration(limit / 3)]);
  return pageOf('waits', {
    steps: table(['Step', 'Waits for', 'Not yet: ended by', 'Fails at once', 'Limit'], rows),
    stages: table(['Stage', 'The service fails the host after', 'Heartbeat each'], stages),
    sentences: table(['Until', 'In'], shortWaits()),
  });
}

/** Some waits of the controller last as long as the installation does. */
const limitText = (limit: number): string => (limit === unlimited ? 'none' : renderDuration(limit));
