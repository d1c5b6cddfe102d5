std = "lua54"
max_line_length = 100
files["spec/**/*_spec.lua"].std = "+busted"
files["spec/support/*.lua"].std = "+busted"
-- A rockspec sets globals that luarocks reads.
files["rockspec/**/*.rockspec"].std = "+rockspec"
files["config.ld"].std = "+ldoc"
