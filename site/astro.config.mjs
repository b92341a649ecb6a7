/** Starlight over the pages that write-pages.ts has written. Nothing is fetched from another host. */
import { readFileSync } from 'node:fs'
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'

const sidebar = JSON.parse(readFileSync(new URL('.pages/sidebar.json', import.meta.url), 'utf8'))

export default defineConfig({
  publicDir: '.public',
  outDir: '.dist',
  integrations: [
    starlight({
      title: 'Postrider',
      logo: { src: './public/icon.svg', alt: '' },
      favicon: '/icon.svg',
      customCss: [
        '@fontsource-variable/inter',
        '@fontsource-variable/jetbrains-mono',
        './src/site.css',
      ],
      sidebar,
      pagination: false,
      credits: false,
      lastUpdated: false,
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
      expressiveCode: {
        themes: ['github-dark', 'github-light'],
        styleOverrides: {
          borderRadius: '8px',
          codeBackground: 'var(--code)',
          codeFontFamily: 'var(--sl-font-mono)',
          frames: {
            editorBackground: 'var(--code)',
            editorTabBarBackground: 'var(--code)',
            editorActiveTabBackground: 'var(--code)',
            editorActiveTabIndicatorTopColor: 'transparent',
            terminalBackground: 'var(--code)',
            terminalTitlebarBackground: 'var(--code)',
            frameBoxShadowCssValue: 'none',
          },
        },
        defaultProps: { overridesByLang: { 'sh,bash,text': { frame: 'none' } } },
      },
      head: [
        {
          tag: 'link',
          attrs: { rel: 'alternate', type: 'text/plain', href: '/llms.txt', title: 'llms.txt' },
        },
      ],
    }),
  ],
})
