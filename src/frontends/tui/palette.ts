import { createContext } from 'react';
import { colorless, type Palette } from '../terminal/palette.ts';

/** The colours of the terminal that the screen is on. */
export const Colors = createContext<Palette>(colorless);
