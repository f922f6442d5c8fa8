import type { Kube, KubeObject } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import type { OpenShiftControlPlane } from '../api.ts';
import { type CheckResult, failedCheck } from '../conditions.ts';
import { contractKind, type ContractKind } from '../objects.ts';
import { clonedKind } from './machines.ts';

/** An infrastructure template, with the kind of its clones. */
export interface UsableTemplate {
  readonly template: KubeObject;
  readonly machine: ContractKind;
}

/** Reads the infrastructure template of a control plane; a finding if it cannot be used. */
export async function readTemplate(
  kube: Pick<Kube, 'get'>,
  { metadata: { namespace = '' }, spec }: OpenShiftControlPlane,
  signal: AbortSignal,
): Promise<{ readonly template?: UsableTemplate; readonly check?: CheckResult }> {
  const { apiGroup, kind, name } = spec.machineTemplate.spec.infrastructureRef;
  const [ofTemplate, machine] = await Promise.all([
    contractKind(kube, { apiGroup, kind }, signal),
    contractKind(kube, { apiGroup, kind: clonedKind(kind) }, signal),
  ]);
  if (ofTemplate === undefined || machine === undefined || !kind.endsWith('Template')) {
    const message = `no infrastructure provider has the kind ${kind} of ${apiGroup}; install the provider, ${orAnother}`;
    return { check: failedCheck('TemplateKindNotFound', message) };
  }
  try {
    const ref = { kind: ofTemplate.kind, namespace, name };
    const template = await kube.get(ref, signal, { denials: 'final' });
    if (template !== undefined)
      return {
        template: { template: { ...template, apiVersion: ofTemplate.apiVersion }, machine },
      };
    const message = `${kind} ${name} is not there; make it, ${orAnother}`;
    return { check: failedCheck('TemplateNotFound', message) };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const kinds = [ofTemplate, machine].map((one) => one.kind.plural).join(' and ');
    const message = `the ServiceAccount of the provider may not read ${kind} ${name}; let it get and create ${kinds} of ${apiGroup}, ${orAnother}`;
    return { check: failedCheck('TemplateForbidden', message) };
  }
}

/** A reference cannot be changed. */
const orAnother = 'or delete the Cluster and start again with another infrastructureRef';
