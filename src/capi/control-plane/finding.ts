/** Whether something is right, and else what is to be done. */
export interface CheckResult {
  readonly isRight: boolean;
  readonly reason: string;
  readonly message?: string;
}
