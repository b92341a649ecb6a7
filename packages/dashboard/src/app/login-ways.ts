/** How people log in here: the service writes it into the page. */
const written = document.querySelector<HTMLMetaElement>('meta[name="login-ways"]')?.content ?? ''

export const loginWays = {
  byPassword: !/^oidc$/.test(written),
  byOidc: /\boidc\b/.test(written),
}
