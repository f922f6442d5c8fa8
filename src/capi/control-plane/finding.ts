/** Whether something is right, and else what is to be done. */
export interface Finding {
  readonly isRight: boolean;
  readonly reason: string;
  readonly message?: string;
}
