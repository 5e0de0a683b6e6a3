package app

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mandate/app/config"
	"mandate/templates"
)

// brandOf returns the brand of the settings, or an error that names the setting to correct.
func brandOf(c *config.Config) (templates.Brand, error) {
	b := c.Brand
	var problems []error
	if b.Color != "" {
		if err := templates.CheckColor(b.Color); err != nil {
			problems = append(problems, fmt.Errorf("BRAND_COLOR %s %w", b.Color, err))
		}
	}
	if b.LogoFile != "" {
		var err error
		b.Logo, err = readLogo(b.LogoFile)
		if err == nil {
			err = templates.CheckLogo(b.Logo)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("BRAND_LOGO_FILE %s %w", b.LogoFile, err))
		}
	}
	return b, errors.Join(problems...)
}

// readLogo reads a file, and no more of it than a logo may have.
func readLogo(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, templates.MostLogo+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if len(body) == 0 {
		return nil, errors.New("is empty")
	}
	return body, nil
}
