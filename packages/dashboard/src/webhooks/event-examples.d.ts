/** Made by vite.config.ts: an example of each event, as the reference shows it, recorded from a running service. */
declare module 'virtual:event-examples' {
  export const examples: Readonly<Record<string, unknown>>
}
