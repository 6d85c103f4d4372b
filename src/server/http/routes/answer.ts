import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Approval } from '../../../api/approvals.ts';
import type { Session } from '../../../api/sessions.ts';
import { CONFIRMATION } from '../../../core/lib/arguments-missing.ts';
import { lazyModule } from '../../../core/lib/lazy-module.ts';
import { errorReply } from '../errors.ts';

/** Reads and answers the approval of a link. Both resolve with null for an invalid link. */
export interface LinkOperations {
  look(
    secret: string,
  ): Promise<{ approval: Approval; session: Pick<Session, 'title' | 'cwd'> } | null>;
  answer(secret: string, decision: 'accept' | 'decline'): Promise<Approval | null>;
}

const PATH = '/answer/:secret';
const BODY_BYTES = 1024;
/** The form of the secrets of links. */
const SECRET = /^[\w-]{43}$/;

const pages = lazyModule(() => import('../answer-page.ts'));

type Asked = FastifyRequest<{ Params: { secret: string }; Body: string | undefined }>;

/**
 * The page that a link to an approval opens, and its form. Opening it changes nothing. It is outside the described
 * interface: only its routes read forms, and its refusals are pages. `failed` counts a request with an invalid link, and
 * resolves when its response may be sent.
 */
export function answerRoutes(
  app: FastifyInstance,
  answering: LinkOperations,
  failed: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: BODY_BYTES },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.setErrorHandler(async (error, request, reply) => {
      const { status, body, isBug } = errorReply(error);
      const reason = status === 415 ? 'only the form of the page is accepted' : undefined;
      if (isBug) request.log.error({ err: error }, 'a request failed because of a bug');
      // The rest of a body that was refused is not read.
      reply.header('connection', 'close');
      const { refusalPage } = await pages.load();
      return send(reply, status, refusalPage(reason ?? (body as { error: string }).error));
    });
    const config = { access: 'link', path: '/answer/{secret}' } as const;
    scope.get(PATH, { exposeHeadRoute: true, config }, async (request: Asked, reply) => {
      const { askingPage } = await pages.load();
      const { secret } = request.params;
      const found = SECRET.test(secret) ? await answering.look(secret) : null;
      if (found === null) return sendInvalid(request, reply);
      return send(reply, 200, askingPage(found.approval, found.session));
    });
    scope.post(PATH, { bodyLimit: BODY_BYTES, config }, async (request: Asked, reply) => {
      const { answeredPage, objectionToAccept, refusalPage } = await pages.load();
      const { secret } = request.params;
      const decision = decisionIn(request.body);
      const isMeant = SECRET.test(secret) && decision !== null;
      const accepted = isMeant && decision === 'accept' ? await answering.look(secret) : null;
      const objection = accepted && objectionToAccept(accepted.approval);
      if (objection) return send(reply, 409, refusalPage(objection));
      if (accepted?.approval.arguments_missing && !isConfirmed(request.body))
        return send(
          reply,
          409,
          refusalPage('Type yes in the field on the page to accept the request.'),
        );
      const answered = isMeant ? await answering.answer(secret, decision) : null;
      if (answered === null) return sendInvalid(request, reply);
      return send(reply, 200, answeredPage(answered));
    });
    done();
  });

  async function sendInvalid(request: Asked, reply: FastifyReply): Promise<FastifyReply> {
    const { invalidPage } = await pages.load();
    await failed(request, reply);
    return send(reply, 404, invalidPage());
  }
}

async function send(reply: FastifyReply, status: number, html: string): Promise<FastifyReply> {
  const { PAGE_HEADERS } = await pages.load();
  return reply.code(status).headers(PAGE_HEADERS).send(html);
}

/** The one decision in a form; null for anything else. */
function decisionIn(body: string | undefined): 'accept' | 'decline' | null {
  const all = new URLSearchParams(body ?? '').getAll('decision');
  const [decision] = all;
  return all.length === 1 && (decision === 'accept' || decision === 'decline') ? decision : null;
}

/** Whether a form has the word that accepts what the agent does not describe. */
function isConfirmed(body: string | undefined): boolean {
  return new URLSearchParams(body ?? '').get('confirm')?.trim().toLowerCase() === CONFIRMATION;
}
