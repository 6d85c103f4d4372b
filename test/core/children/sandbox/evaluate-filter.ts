/** The numbers of the kernel for architectures, which a filter compares (AUDIT_ARCH). */
export const auditNumbers = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003 } as const;

export interface SystemCall {
  arch: keyof typeof auditNumbers;
  number: number;
  args?: readonly bigint[];
}

/** Runs a filter as the kernel does. Returns `allow`, `kill`, or the error number of the refusal. */
export function evaluateFilter(filter: Buffer, call: SystemCall): 'allow' | 'kill' | number {
  const data = dataOf(call);
  let loaded = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    const [ifTrue = 0, ifFalse = 0] = filter.subarray(at * 8 + 2, at * 8 + 4);
    if (code === 0x20) loaded = data.readUInt32LE(value);
    else if (code === 0x15) at += loaded === value ? ifTrue : ifFalse;
    else if (code === 0x45) at += (loaded & value) === 0 ? ifFalse : ifTrue;
    else if (code === 0x06) return answerOf(value);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the filter ends without an answer');
}

function answerOf(value: number): 'allow' | 'kill' | number {
  if (value === 0x7fff0000) return 'allow';
  return value === 0x80000000 ? 'kill' : value & 0xffff;
}

/** The structure that the kernel passes to a filter: the call, the architecture, an address, six arguments. */
function dataOf({ arch, number, args = [] }: SystemCall): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(auditNumbers[arch], 4);
  for (const [at, value] of args.entries()) data.writeBigUInt64LE(value, 16 + 8 * at);
  return data;
}
