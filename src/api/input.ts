import { z } from 'zod';
import { component } from './common.ts';

const textInput = z
  .strictObject({ type: z.literal('text'), text: z.string() })
  .meta({ id: 'TextInput', description: 'Text input for an agent.' });
const imageByPath = z
  .strictObject({
    type: z.literal('image'),
    path: z.string().min(1).meta({
      description:
        "Path of an image file on the server's machine, relative to the working directory of the session. The server stores a copy.",
    }),
  })
  .meta({ id: 'ImageByPath', description: "Image in a file on the server's machine." });
const imageInline = z
  .strictObject({
    type: z.literal('image'),
    data: z.base64().min(1).describe('Contents of the image file, base64-encoded.'),
    media_type: z.string().optional().meta({
      description:
        'Media type of the image. The server detects the type from the bytes and refuses a request that states a different one.',
    }),
  })
  .meta({ id: 'ImageInline', description: 'Image data in the request.' });

const nonBlankText = textInput
  .extend({ text: z.string().regex(/\S/, 'is blank: enter a text') })
  .meta({ id: 'NonBlankText', description: 'Text input for an agent. It must not be blank.' });

/** An input item of a team message. Unlike in a turn, its text must not be blank. */
export const messageInputItem = z.union([nonBlankText, imageByPath, imageInline]);

/** An input item of a turn, as a client sends it. */
export const inputItem = z.union([textInput, imageByPath, imageInline]).meta({
  id: 'InputItem',
  description: 'Input item of a turn or message.',
});
export type InputItem = z.output<typeof inputItem>;

const storedText = component('StoredText', 'Text of a stored input.', {
  type: z.literal('text'),
  text: z.string(),
});

export const storedImage = component('StoredImage', 'Stored copy of an input image.', {
  type: z.literal('image'),
  path: z.string(),
  media_type: z.string(),
  bytes: z.int(),
  sha256: z.string(),
});
export const storedInputItem = z.discriminatedUnion('type', [storedText, storedImage]).meta({
  id: 'StoredInputItem',
  description:
    'Stored input item. An image is stored as metadata with its digest, without its data.',
  discriminator: {
    propertyName: 'type',
    mapping: {
      text: '#/components/schemas/StoredText',
      image: '#/components/schemas/StoredImage',
    },
  },
});
export type StoredInputItem = z.output<typeof storedInputItem>;
export type StoredImage = z.output<typeof storedImage>;
