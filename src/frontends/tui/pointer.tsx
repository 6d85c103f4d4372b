import { Box, type BoxProps, type DOMElement } from 'ink';
import { type ReactNode, useContext, useLayoutEffect, useRef } from 'react';
import { Listeners } from './keyboard.ts';
import type { Pointed } from './read-pointer.ts';

/** A box that gets what a mouse does over it. */
export function PointerBox({
  onPointer,
  ...rest
}: BoxProps & { onPointer: (pointed: Pointed) => void; children: ReactNode }): ReactNode {
  const { regions } = useContext(Listeners);
  const element = useRef<DOMElement>(null);
  useLayoutEffect(() => {
    const region = { element: () => element.current, handle: onPointer };
    regions.add(region);
    return () => void regions.delete(region);
  });
  return <Box ref={element} {...rest} />;
}
