/** The look of the library's components: the tokens of `theme.css`, small sizes, one accent. */
import {
  Anchor,
  Button,
  type CSSVariablesResolver,
  createTheme,
  Loader,
  localStorageColorSchemeManager,
  type MantineColorsTuple,
  Menu,
  Modal,
  Select,
  Tabs,
  TextInput,
  Tooltip,
} from '@mantine/core'

const post: MantineColorsTuple = [
  '#fff8e1',
  '#ffefc0',
  '#ffe491',
  '#ffd95f',
  '#ffcf37',
  '#ffc21a',
  '#f2b200',
  '#d99a00',
  '#a87700',
  '#7a5600',
]

export const theme = createTheme({
  colors: { post },
  primaryColor: 'post',
  primaryShade: 5,
  autoContrast: true,
  fontFamily: 'var(--sans)',
  fontFamilyMonospace: 'var(--mono)',
  defaultRadius: 'var(--radius-small)',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '15px', xl: '18px' },
  components: {
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    Button: Button.extend({ defaultProps: { size: 'sm', fw: 560 } }),
    Loader: Loader.extend({ defaultProps: { color: 'var(--ink-3)', size: 'sm' } }),
    Menu: Menu.extend({
      defaultProps: { shadow: 'md', position: 'bottom-end', withinPortal: true },
    }),
    Modal: Modal.extend({
      defaultProps: {
        centered: false,
        radius: 'var(--radius)',
        overlayProps: { backgroundOpacity: 0.35, blur: 0 },
        transitionProps: { duration: 120 },
      },
    }),
    Select: Select.extend({ defaultProps: { size: 'sm', allowDeselect: false } }),
    Tabs: Tabs.extend({ defaultProps: { color: 'var(--accent-line)' } }),
    TextInput: TextInput.extend({ defaultProps: { size: 'sm' } }),
    Tooltip: Tooltip.extend({
      defaultProps: { openDelay: 250, withArrow: false, multiline: true },
    }),
  },
})

/** The library's own variables are ours. */
const variables = {
  '--mantine-color-body': 'var(--paper)',
  '--mantine-color-text': 'var(--ink)',
  '--mantine-color-dimmed': 'var(--ink-3)',
  '--mantine-color-anchor': 'var(--ink)',
  '--mantine-color-placeholder': 'var(--ink-3)',
  '--mantine-color-error': 'var(--bad)',
  '--mantine-color-default': 'var(--surface)',
  '--mantine-color-default-hover': 'var(--hover)',
  '--mantine-color-default-color': 'var(--ink)',
  '--mantine-color-default-border': 'var(--line-strong)',
  '--mantine-color-disabled': 'var(--sunken)',
  '--mantine-color-disabled-color': 'var(--ink-3)',
  '--mantine-color-disabled-border': 'var(--line)',
}

export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: variables,
  dark: variables,
})

export const colorSchemeManager = localStorageColorSchemeManager({ key: 'postrider.theme' })
