import { isLanes, type Role } from '../../src/engine/role.ts';
import type { AnyStep, World } from '../../src/engine/step.ts';
import type { Host } from '../../src/ports/host.ts';

/** A world whose steps may have a host. */
type HostWorld = World & { readonly ports: { readonly host: Host } };

/** Gives each step of a role a host of its own, which knows the step that calls it. */
export function withStepHosts<W extends HostWorld>(
  role: Role<W>,
  hostFor: (step: string, host: Host) => Host,
): Role<W> {
  const given = <Scope>(id: string, scope: Scope): Scope => {
    const { host } = scope as { readonly host?: Host };
    return host === undefined ? scope : { ...scope, host: hostFor(id, host) };
  };
  const changed = (step: AnyStep<W>): AnyStep<W> => {
    const { id, run } = step;
    return {
      ...step,
      run: (scope, needs) => run(given(id, scope), needs),
    };
  };
  const all = (steps: readonly AnyStep<W>[]): readonly AnyStep<W>[] => steps.map(changed);
  return {
    ...role,
    steps: role.steps.map((item) =>
      isLanes(item)
        ? {
            ...item,
            lanes: Object.fromEntries(
              Object.entries(item.lanes).map(([name, steps]) => [name, all(steps)]),
            ),
          }
        : changed(item),
    ),
    follow: all(role.follow ?? []),
    always: all(role.always ?? []),
  };
}
