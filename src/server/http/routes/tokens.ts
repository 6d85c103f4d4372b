import { endpoints } from '../../../api/index.ts';
import type { TokenService } from '../../../core/access/tokens.ts';
import { type Mount, onePage } from '../mount.ts';

/** The tokens in addition to the API token. */
export function tokenRoutes(mount: Mount, tokens: TokenService): void {
  mount(endpoints.listTokens, async ({ query, setHeader }) =>
    onePage(await tokens.list(query), setHeader),
  );
  mount(endpoints.createToken, ({ body }) => tokens.create(body));
  mount(endpoints.deleteToken, ({ params }) => tokens.delete(params.token_id));
}
