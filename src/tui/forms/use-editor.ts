import { useRef, useState } from 'react';
import { type Editor, emptyEditor, inserted } from './editor.ts';

interface UsedEditor {
  editor: Editor;
  change: (next: (editor: Editor) => Editor) => void;
  /** The editor after the last change, which may not have been drawn yet. */
  latest: () => Editor;
}

/** An editor that begins with a text, with the cursor at its end. */
export function useEditor(initial: string): UsedEditor {
  const [editor, setEditor] = useState(() => inserted(emptyEditor, initial));
  const last = useRef(editor);
  const change = (next: (editor: Editor) => Editor) => {
    last.current = next(last.current);
    setEditor(last.current);
  };
  return { editor, change, latest: () => last.current };
}
