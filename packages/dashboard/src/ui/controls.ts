/** The library's controls that screens use; nothing else of it is used outside of this folder. */
export {
  ActionIcon,
  Button,
  Checkbox,
  FileInput,
  Menu,
  MultiSelect,
  PasswordInput,
  SegmentedControl,
  Select,
  Switch,
  Tabs,
  Textarea,
  TextInput,
} from '@mantine/core'
