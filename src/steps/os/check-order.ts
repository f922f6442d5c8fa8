import { osFailure } from '../../os/failures.ts';
import { parseImageName } from '../../os/image-name.ts';
import type { NodeOrder } from './step.ts';

/**
 * Checks what can be said of an apply before anything is asked: the Machine Config Daemon compares
 * names byte for byte, and a tag says nothing of what runs.
 * @throws AgentError `os.bad-image-name`
 */
export function checkOrder({ image, records }: Pick<NodeOrder, 'image' | 'records'>): void {
  const { digest } = parseImageName(image);
  if (!records || digest !== undefined) return;
  throw osFailure('os.bad-image-name', `${JSON.stringify(image)} has no digest to be recorded`, {
    hint: 'write HOST/PATH@sha256:DIGEST',
    context: { image },
  });
}
